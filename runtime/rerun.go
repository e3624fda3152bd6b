package runtime

// RerunNodes forces the nodes that a person names: "all", a node's address, a
// feature, one of its alternatives or confirmations, or a phase, each with
// everything in it. The second result lists names that match nothing.
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

// named reports whether a name stands for a node. What the baseline has none of, a
// phase and a feature, no name stands for, nor does an empty one for anything.
func named(n *Node, name string) bool {
	switch {
	case name == "":
		return false
	case name == "all", name == n.ID, name == n.Feature, n.FeatureBlock != nil && name == n.FeatureBlock.Name:
		return true
	}
	return n.Phase != "" && (name == n.Phase || name == PhaseID(n.Phase))
}
