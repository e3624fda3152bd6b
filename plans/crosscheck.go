package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// crossChecks is what the checks of the whole plan need to know.
type crossChecks struct {
	knobs    map[string]*Knob
	features map[string]*featureNotes
	// order is the features as they stand in the plan.
	order []*featureNotes
	edges []phaseEdge
	// targets are numbers to beat under "command".
	targets []targetNote
	// observed are the observations that knobs name.
	observed []observedName
}

// phaseEdge says that phase from waits for phase to.
type phaseEdge struct {
	from, to, why string
	at            hcl.Range
}

func (c *crossChecks) edge(from, to, why string, at hcl.Range) {
	c.edges = append(c.edges, phaseEdge{from, to, why, at})
}

// checkPlan is the third pass.
func (l *loader) checkPlan() {
	if len(l.checks.order) > 0 && l.plan.Baseline == nil {
		first := l.checks.order[0]
		l.fail(first.def, "Missing baseline", "Feature %q has nothing to be compared with. Add: baseline { engine = engine.kind.name, protocol = protocol.name }, each on its own line.", first.feature.Name)
	}
	onCycle := l.checkLineage()
	l.checkPhaseOrder(onCycle)
	if !l.unordered {
		l.checkChanges()
	}
	l.checkProof()
	l.checkCommands()
	l.checkEndpoints()
	l.checkConfirmations()
	l.checkObserved()
	l.checkOffered()
}

// checkLineage finds features that are their own ancestors.
func (l *loader) checkLineage() map[string]bool {
	next := func(name string) []phaseEdge {
		n := l.checks.features[name]
		if n == nil || n.feature.BuildsOn.Kind != OnFeature {
			return nil
		}
		return []phaseEdge{{name, n.feature.BuildsOn.Feature, "", n.parentAt}}
	}
	var names []string
	for _, n := range l.checks.order {
		names = append(names, n.feature.Name)
	}
	onCycle := map[string]bool{}
	for _, cycle := range cycles(names, next) {
		path := ""
		for _, e := range cycle {
			onCycle[e.from] = true
			path += "feature." + e.from + " → "
		}
		l.unordered = true
		l.fail(cycle[0].at, "Cycle of features", "A feature cannot build on itself: %sfeature.%s. Let one of them build on baseline or accepted.", path, cycle[0].from)
	}
	return onCycle
}

// checkPhaseOrder finds phases that wait for themselves, by after or because a
// feature builds on one of a later phase.
func (l *loader) checkPhaseOrder(skip map[string]bool) {
	edges := map[string][]phaseEdge{}
	for _, e := range l.checks.edges {
		edges[e.from] = append(edges[e.from], e)
	}
	for _, n := range l.checks.order {
		f := n.feature
		if f.BuildsOn.Kind != OnFeature || skip[f.Name] {
			continue
		}
		parent := l.checks.features[f.BuildsOn.Feature]
		if parent == nil || parent.feature.Phase == f.Phase {
			continue
		}
		why := fmt.Sprintf("feature.%s builds on feature.%s", f.Name, parent.feature.Name)
		edges[f.Phase] = append(edges[f.Phase], phaseEdge{f.Phase, parent.feature.Phase, why, n.parentAt})
	}
	for _, cycle := range cycles(l.symbols.of("phase").order, func(name string) []phaseEdge { return edges[name] }) {
		path := ""
		for _, e := range cycle {
			path += fmt.Sprintf("phase.%s (%s) → ", e.from, e.why)
		}
		l.unordered = true
		l.fail(cycle[0].at, "Cycle of phases", "A phase cannot wait for itself: %sphase.%s. Remove one of these links.", path, cycle[0].from)
	}
}

// cycles finds circles in a graph: at least one for every node that is on one.
// Each begins at its node that stands first in names.
func cycles(names []string, next func(string) []phaseEdge) (found [][]phaseEdge) {
	const open, done = 1, 2
	state := map[string]int{}
	position := map[string]int{}
	for i, n := range names {
		position[n] = i
	}
	var path []phaseEdge
	var visit func(string)
	visit = func(name string) {
		state[name] = open
		for _, e := range next(name) {
			switch state[e.to] {
			case open:
				found = append(found, rotate(append(path, e), position))
			case done:
			default:
				path = append(path, e)
				visit(e.to)
				path = path[:len(path)-1]
			}
		}
		state[name] = done
	}
	for _, n := range names {
		if state[n] == 0 {
			visit(n)
		}
	}
	return found
}

// rotate cuts the circle that the last edge closes out of a path.
func rotate(path []phaseEdge, position map[string]int) []phaseEdge {
	target := path[len(path)-1].to
	from := len(path) - 1
	for path[from].from != target {
		from--
	}
	cycle := path[from:]
	least := 0
	for i, e := range cycle {
		if position[e.from] < position[cycle[least].from] {
			least = i
		}
	}
	return append(append([]phaseEdge(nil), cycle[least:]...), cycle[:least]...)
}
