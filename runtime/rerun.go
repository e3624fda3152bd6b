package runtime

import "github.com/mxflow/mxflow/plans"

// RerunNodes forces the nodes that a person names: "all", a node's address, a
// feature, one of its alternatives or confirmations, or a phase, each with
// everything in it. The second result lists names that
// match nothing.
func RerunNodes(g *Graph, p *plans.Plan, names []string) (func(*Node) bool, []string) {
	chosen := map[string]bool{}
	var unknown []string
	for _, name := range names {
		found := false
		for _, n := range g.Nodes {
			if name == "all" || n.ID == name || n.Feature == name || n.FeatureBlock != nil && n.FeatureBlock.Name == name || PhaseID(n.Phase) == name || n.Phase == name && name != "" {
				chosen[n.ID] = true
				found = true
			}
		}
		if !found {
			unknown = append(unknown, name)
		}
	}
	return func(n *Node) bool { return chosen[n.ID] }, unknown
}
