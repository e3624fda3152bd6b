package machine

import "slices"

// CPU is one logical CPU: two of the same core are the core's threads, and Node is its
// NUMA node, -1 if that is not known.
type CPU struct {
	ID   int
	Core string
	Node int
}

// Share divides CPUs among places, each of which wants those of a NUMA node (-1 for any):
// whole cores, as many for each as for its neighbours on the node; left-over cores go to
// nobody, so that places are alike. It returns nil if a place would have none.
func Share(cpus []CPU, nodes []int) [][]int {
	known := map[int]bool{}
	for _, c := range cpus {
		known[c.Node] = true
	}
	wanted := slices.Clone(nodes)
	if slices.ContainsFunc(nodes, func(node int) bool { return !known[node] }) {
		for i := range wanted {
			wanted[i] = -1 // as far as is known they are all alike
		}
	}
	shares := make([][]int, len(wanted))
	per := 0
	cores, places := map[int][][]int{}, map[int][]int{}
	for i, node := range wanted {
		places[node] = append(places[node], i)
	}
	for node, at := range places {
		cores[node] = coresOf(cpus, node)
		if n := len(cores[node]) / len(at); per == 0 || n < per {
			if per = n; n == 0 {
				return nil
			}
		}
	}
	for node, at := range places {
		for n, i := range at {
			shares[i] = slices.Concat(cores[node][n*per : (n+1)*per]...)
			slices.Sort(shares[i])
		}
	}
	return shares
}

// coresOf are the threads of each core of a node, or of all nodes for -1, in order.
func coresOf(cpus []CPU, node int) (cores [][]int) {
	at := map[string]int{}
	for _, c := range cpus {
		if node >= 0 && c.Node != node {
			continue
		}
		i, seen := at[c.Core]
		if !seen {
			i = len(cores)
			at[c.Core], cores = i, append(cores, nil)
		}
		cores[i] = append(cores[i], c.ID)
	}
	return cores
}
