package runtime

import "slices"

// Reduced are the needs of a node that do not follow from its others: what a picture has
// to show. A need is left out where others lead to the same node by a path whose last step
// asks at least as much of it.
func (g *Graph) Reduced(n *Node) []Need {
	var needs []Need // each node once, by what is asked most
	for _, need := range n.Needs {
		if i := slices.IndexFunc(needs, func(o Need) bool { return o.On == need.On }); i < 0 {
			needs = append(needs, need)
		} else {
			needs[i].Mode = min(needs[i].Mode, need.Mode)
		}
	}
	return slices.DeleteFunc(slices.Clone(needs), func(need Need) bool {
		seen := map[string]bool{}
		return slices.ContainsFunc(needs, func(other Need) bool { return other.On != need.On && g.leads(other.On, need, seen) })
	})
}

// leads reports whether a node needs another as much as is asked, by whatever path.
func (g *Graph) leads(id string, to Need, seen map[string]bool) bool {
	n := g.byID[id]
	if seen[id] || n == nil || n.Order <= g.byID[to.On].Order {
		return false
	}
	seen[id] = true
	return slices.ContainsFunc(n.Needs, func(need Need) bool {
		return need.On == to.On && need.Mode <= to.Mode || need.On != to.On && g.leads(need.On, to, seen)
	})
}
