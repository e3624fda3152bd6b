package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// phaseEdge means that phase from waits for phase to.
type phaseEdge struct {
	from, to, why string
	at            hcl.Range
}

func (l *loader) edge(from, to, why string, at hcl.Range) {
	l.edges = append(l.edges, phaseEdge{from, to, why, at})
}

// checkPlan is the last pass: it checks what needs the whole plan.
func (l *loader) checkPlan() {
	if len(l.order) > 0 && l.plan.Baseline == nil {
		first := l.order[0]
		l.Fail(first.def, "missing-block", "Missing baseline", "Feature %q has nothing to compare with. Add: baseline { engine = engine.kind.name, protocol = protocol.name }, each on its own line.", first.feature.Name)
	}
	onCycle := l.checkLineage()
	l.checkPhaseOrder(onCycle)
	if !l.circular {
		l.checkChanges()
	}
	l.checkProof()
	l.checkCommands()
	l.checkMatrices()
	l.checkFits()
	l.checkEndpoints()
	l.checkExecutor()
	l.checkConfirmations()
	l.checkObserved()
	l.checkOffered()
}

// checkLineage finds features that are their own ancestors.
func (l *loader) checkLineage() map[string]bool {
	next := func(name string) []phaseEdge {
		n := l.features[name]
		if n == nil || n.feature.BuildsOn.Kind != plans.OnFeature {
			return nil
		}
		return []phaseEdge{{name, n.feature.BuildsOn.Feature, "", n.parentAt}}
	}
	var names []string
	for _, n := range l.order {
		names = append(names, n.feature.Name)
	}
	onCycle := map[string]bool{}
	for _, cycle := range cycles(names, next) {
		path := ""
		for _, e := range cycle {
			onCycle[e.from] = true
			path += "feature." + e.from + " → "
		}
		l.circular = true
		l.Fail(cycle[0].at, "cycle", "Cycle of features", "A feature cannot build on itself: %sfeature.%s. Let one of them build on baseline or accepted.", path, cycle[0].from)
	}
	return onCycle
}

// checkPhaseOrder finds phases that wait for themselves, by after or because a
// feature builds on one of a later phase.
func (l *loader) checkPhaseOrder(skip map[string]bool) {
	edges := map[string][]phaseEdge{}
	for _, e := range l.edges {
		edges[e.from] = append(edges[e.from], e)
	}
	for _, n := range l.order {
		f := n.feature
		if f.BuildsOn.Kind != plans.OnFeature || skip[f.Name] {
			continue
		}
		parent := l.features[f.BuildsOn.Feature]
		if parent == nil || parent.feature.Phase == f.Phase {
			continue
		}
		why := fmt.Sprintf("feature.%s builds on feature.%s", f.Name, parent.feature.Name)
		edges[f.Phase] = append(edges[f.Phase], phaseEdge{f.Phase, parent.feature.Phase, why, n.parentAt})
	}
	for _, cycle := range cycles(l.Symbols.Of("phase").Order, func(name string) []phaseEdge { return edges[name] }) {
		path := ""
		for _, e := range cycle {
			path += fmt.Sprintf("phase.%s (%s) → ", e.from, e.why)
		}
		l.circular = true
		l.Fail(cycle[0].at, "cycle", "Cycle of phases", "A phase cannot wait for itself: %sphase.%s. Remove one of these links.", path, cycle[0].from)
	}
}

// cycles finds cycles in a graph: at least one of any that share nodes.
func cycles(names []string, next func(string) []phaseEdge) (found [][]phaseEdge) {
	var path []phaseEdge
	done := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, e := range next(name) {
			path = append(path, e)
			if from := slices.IndexFunc(path, func(p phaseEdge) bool { return p.from == e.to }); from >= 0 {
				found = append(found, slices.Clone(path[from:]))
			} else if !done[e.to] {
				visit(e.to)
			}
			path = path[:len(path)-1]
		}
		done[name] = true
	}
	for _, n := range names {
		if !done[n] {
			visit(n)
		}
	}
	return found
}

// checkChanges refuses a feature that sets a knob to the value that its parent already
// has: the comparison would be of a thing with itself.
func (l *loader) checkChanges() {
	base := map[string]string{}
	for _, k := range l.plan.Knobs {
		base[k.Name] = k.Default
	}
	if l.plan.Baseline != nil {
		maps.Copy(base, l.plan.Baseline.Set)
	}
	children := map[string][]*featureNotes{}
	for _, n := range l.order {
		if n.feature.BuildsOn.Kind == plans.OnFeature {
			children[n.feature.BuildsOn.Feature] = append(children[n.feature.BuildsOn.Feature], n)
		}
	}
	// One map of values serves the whole walk: each feature changes it on the
	// way down and puts it back on the way up.
	var walk func(n *featureNotes, values map[string]string)
	walk = func(n *featureNotes, values map[string]string) {
		f := n.feature
		before := map[string]string{}
		same := func(at hcl.Range, format string, args ...any) {
			l.Within(n.instance, func() {
				l.Fail(at, "nothing-under-test", "Knob value does not change", format, args...)
			})
		}
		for _, knob := range lang.KeysOf(f.Set) {
			before[knob] = values[knob]
			if values[knob] == f.Set[knob] {
				same(n.setAt[knob], "Knob %q is already %q in the parent (%s), so setting it tests nothing. Set another value, or remove it.", knob, f.Set[knob], parentName(f))
			}
			values[knob] = f.Set[knob]
		}
		if choose := f.Choose; choose != nil {
			before[choose.Knob] = values[choose.Knob]
			if at, tried := n.chooseAt[values[choose.Knob]]; tried {
				same(at, "Knob %q is already %q in the parent (%s), so this alternative tests nothing: every alternative is compared with it anyway. Remove it from choose.", choose.Knob, values[choose.Knob], parentName(f))
			}
			// Which of them a child builds on is known only in a run.
			values[choose.Knob] = ""
		}
		for _, child := range children[f.Name] {
			walk(child, values)
		}
		maps.Copy(values, before)
	}
	for _, n := range l.order {
		switch n.feature.BuildsOn.Kind {
		case plans.OnBaseline:
			walk(n, base)
		case plans.OnAccepted:
			walk(n, l.underAny(n.feature, base))
		}
	}
}

// underAny is what the stack below a feature is certain to have: which features are
// accepted is known only in a run, but a knob that no other feature sets to anything else
// has the baseline's value in every stack.
func (l *loader) underAny(f *plans.Feature, base map[string]string) map[string]string {
	values := maps.Clone(base)
	for _, n := range l.order {
		if n.feature == f {
			continue
		}
		for knob, value := range n.feature.Set {
			if value != base[knob] {
				delete(values, knob)
			}
		}
		if choose := n.feature.Choose; choose != nil {
			delete(values, choose.Knob)
		}
	}
	return values
}

func parentName(f *plans.Feature) string {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		return "feature." + f.BuildsOn.Feature
	case plans.OnAccepted:
		return "accepted, in any case: no other feature sets it to anything else"
	}
	return string(f.BuildsOn.Kind)
}

// checkMatrices checks the combinations of knobs that steps measure, once all knobs are
// known.
func (l *loader) checkMatrices() {
	for _, ph := range l.plan.Phases {
		for _, b := range ph.Steps {
			if b.Kind != plans.MatrixStep {
				continue
			}
			for _, e := range l.plan.CheckMatrix(b) {
				l.Fail(lang.HCL(b.Range), e.Code, e.Summary, "%s", e.Detail)
			}
		}
	}
}
