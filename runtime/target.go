package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// TargetNodes are the nodes that a person names, as in RerunNodes, with all their
// dependencies; nil if nothing is named, which leaves nothing out. The second result
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

// onlyAfter reports whether n waits for another node without resting on it: a benchmark
// waits for its siblings' qualifications, to know which share its session.
func (n *Node) onlyAfter(other *Node) bool {
	return n.Kind == KindBenchmark && other.Kind == KindQualify && other.ID != BaselineID &&
		other.FeatureBlock.Name != n.FeatureBlock.Name
}

// excludedBy is the reason that a node is not run because a person named others; no fact if
// it is run.
func (r *Runner) excludedBy(n *Node) verdict.Reason {
	if r.Target == nil || r.Target(n) {
		return verdict.Reason{}
	}
	return verdict.New(code.NotTargeted)
}

// RerunNodes forces the nodes that a person names: "all", a node's address, a feature,
// one of its alternatives or confirmations, or a phase, each with everything in it. The
// second result lists names that match nothing.
func RerunNodes(g *Graph, names []string) (func(*Node) bool, []string) {
	chosen, unknown := namedNodes(g, names)
	return func(n *Node) bool { return chosen[n.ID] }, unknown
}

func namedNodes(g *Graph, names []string) (chosen map[string]bool, unknown []string) {
	chosen = map[string]bool{}
	for _, name := range names {
		found := false
		for _, n := range g.Nodes {
			if named(n, name) {
				chosen[n.ID], found = true, true
			}
		}
		if !found {
			unknown = append(unknown, name)
		}
	}
	return chosen, unknown
}

// named reports whether a name matches a node. No name matches the phase and feature that
// the baseline lacks, and an empty name matches nothing.
func named(n *Node, name string) bool {
	switch {
	case name == "":
		return false
	case name == "all", name == n.ID, name == n.Feature, n.FeatureBlock != nil && name == n.FeatureBlock.Name:
		return true
	}
	return n.Phase != "" && (name == n.Phase || name == PhaseID(n.Phase))
}
