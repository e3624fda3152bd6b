package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TargetNodes are the nodes that a person names, as in RerunNodes, and all that they
// depend on; nil where nothing is named, which leaves nothing out. The second result
// lists names that match nothing.
func TargetNodes(g *Graph, names []string) (func(*Node) bool, []string) {
	if len(names) == 0 {
		return nil, nil
	}
	chosen, unknown := namedNodes(g, names)
	// Needs point backwards in the order of the graph.
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		if !chosen[n.ID] {
			continue
		}
		for _, need := range n.Needs {
			if !n.onlyAfter(g.Node(need.On)) {
				chosen[need.On] = true
			}
		}
	}
	return func(n *Node) bool { return chosen[n.ID] }, unknown
}

// onlyAfter reports whether n waits for another node and does not rest on it: a
// benchmark waits for its siblings' qualifications, to know who shares its session.
func (n *Node) onlyAfter(other *Node) bool {
	return n.Kind == KindBenchmark && other.Kind == KindQualify && other.ID != BaselineID && other.FeatureBlock.Name != n.FeatureBlock.Name
}

// leftOut says that a node is not run, since a person named others; no fact where it is.
func (r *Runner) leftOut(n *Node) verdict.Reason {
	if r.Target == nil || r.Target(n) {
		return verdict.Reason{}
	}
	return verdict.New(code.NotTargeted)
}

// lockedBy is LockedBy of a Scope: a node that is left out will have no outcome, unless
// the recorded one is kept.
func (r *Runner) lockedBy(locked func(id string) verdict.Reason, outcome func(id string) bool) func(id string) verdict.Reason {
	return func(id string) verdict.Reason {
		if why := locked(id); !why.IsZero() {
			return why
		}
		if n := r.Graph.Node(id); n != nil && !outcome(id) {
			return r.leftOut(n)
		}
		return verdict.Reason{}
	}
}
