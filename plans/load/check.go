package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// phaseEdge means that phase from waits for phase to.
type phaseEdge struct {
	from, to, why string
	at            hcl.Range
}

// checkPlan is the last pass: it checks what needs the whole plan.
func (l *loader) checkPlan() {
	if len(l.order) > 0 && l.plan.Baseline == nil {
		first := l.order[0]
		l.Fail(first.def, "missing-block", "Missing baseline",
			"Feature %q has nothing to compare with. Add: ‹baseline {\nengine = %s\nprotocol = %s\n}›.",
			first.feature.Name, l.Example("engine"), l.Example("protocol"))
	}
	if l.checkCycles(); !l.circular {
		l.checkChanges()
	}
	l.checkProof()
	l.checkCommands()
	l.checkFits()
	l.checkEndpoints()
	l.checkExecutor()
	l.checkConfirmations()
	l.checkObserved()
	l.checkOffered()
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

// checkCycles finds features that are their own ancestors, and phases that wait for
// themselves, by after or because a feature builds on one of a later phase.
func (l *loader) checkCycles() {
	parents, waits, onCycle := map[string][]phaseEdge{}, map[string][]phaseEdge{}, map[string]bool{}
	var names []string
	for _, n := range l.order {
		names = append(names, n.feature.Name)
		if n.feature.BuildsOn.Kind == plans.OnFeature {
			parents[n.feature.Name] = []phaseEdge{{n.feature.Name, n.feature.BuildsOn.Feature, "", n.parentAt}}
		}
	}
	for _, cycle := range cycles(names, parents) {
		path := ""
		for _, e := range cycle {
			onCycle[e.from] = true
			path += "feature." + e.from + " → "
		}
		l.circular = true
		l.Fail(cycle[0].at, "cycle", "Cycle of features",
			"A feature cannot build on itself: %sfeature.%s. Let one of them build on baseline or accepted.",
			path, cycle[0].from)
	}
	for _, e := range l.edges {
		waits[e.from] = append(waits[e.from], e)
	}
	for _, n := range l.order {
		f, parent := n.feature, l.features[n.feature.BuildsOn.Feature]
		if f.BuildsOn.Kind != plans.OnFeature || onCycle[f.Name] || parent == nil || parent.feature.Phase == f.Phase {
			continue
		}
		why := fmt.Sprintf("feature.%s builds on feature.%s", f.Name, parent.feature.Name)
		waits[f.Phase] = append(waits[f.Phase], phaseEdge{f.Phase, parent.feature.Phase, why, n.parentAt})
	}
	for _, cycle := range cycles(l.Symbols.Of("phase").Order, waits) {
		path := ""
		for _, e := range cycle {
			path += fmt.Sprintf("phase.%s (%s) → ", e.from, e.why)
		}
		l.circular = true
		l.Fail(cycle[0].at, "cycle", "Cycle of phases",
			"A phase cannot wait for itself: %sphase.%s. Remove one of these links.", path, cycle[0].from)
	}
}

// cycles finds cycles in a graph: at least one of any that share nodes.
func cycles(names []string, next map[string][]phaseEdge) (found [][]phaseEdge) {
	var path []phaseEdge
	done := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, e := range next[name] {
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
	parent := func(f *plans.Feature) string {
		switch f.BuildsOn.Kind {
		case plans.OnFeature:
			return "feature." + f.BuildsOn.Feature
		case plans.OnAccepted:
			return "accepted, in any case: no other feature sets it to anything else"
		}
		return string(f.BuildsOn.Kind)
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
				same(n.setAt[knob],
					"Knob %q is already %q in the parent (%s), so setting it tests nothing. Set another value, or "+
						"remove it.", knob, f.Set[knob], parent(f))
			}
			values[knob] = f.Set[knob]
		}
		if choose := f.Choose; choose != nil {
			before[choose.Knob] = values[choose.Knob]
			if at, tried := n.chooseAt[values[choose.Knob]]; tried {
				same(at,
					"Knob %q is already %q in the parent (%s), so this alternative tests nothing: every alternative "+
						"is compared with it anyway. Remove it from choose.", choose.Knob,
					values[choose.Knob], parent(f))
			}
			// Which of them a child builds on is known only in a run.
			values[choose.Knob] = ""
		}
		for _, child := range children[f.Name] {
			walk(child, values)
		}
		maps.Copy(values, before)
	}
	// Which features are accepted is known only in a run, but a knob that no other feature
	// sets to anything else has the baseline's value in every stack.
	changed := func(f *plans.Feature) (knobs []string) {
		for knob, value := range sorted.All(f.Set) {
			if value != base[knob] {
				knobs = append(knobs, knob)
			}
		}
		if f.Choose != nil {
			knobs = append(knobs, f.Choose.Knob)
		}
		return knobs
	}
	certain, by := maps.Clone(base), map[string]int{}
	for _, n := range l.order {
		for _, knob := range changed(n.feature) {
			delete(certain, knob)
			by[knob]++
		}
	}
	for _, n := range l.order {
		switch n.feature.BuildsOn.Kind {
		case plans.OnBaseline:
			walk(n, base)
		case plans.OnAccepted:
			own := slices.DeleteFunc(changed(n.feature), func(knob string) bool { return by[knob] > 1 })
			for _, knob := range own {
				certain[knob] = base[knob]
			}
			walk(n, certain)
			for _, knob := range own {
				delete(certain, knob)
			}
		}
	}
}
