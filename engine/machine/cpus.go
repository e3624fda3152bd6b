package machine

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CPU is one logical CPU: two of the same core are the core's threads, and Node is its
// NUMA node, -1 if that is not known.
type CPU struct {
	ID   int
	Core string
	Node int
}

// CPUs are the logical CPUs that this process may run on, by number; none where there is
// no /proc.
func CPUs() (all []CPU) {
	nodes := cpuNodes("/sys/devices/system/node")
	allowed, _ := lineOf(readText("/proc/self/status"), "Cpus_allowed_list:")
	for _, id := range cpuList(allowed) {
		topology := "/sys/devices/system/cpu/cpu" + strconv.Itoa(id) + "/topology/"
		c := CPU{ID: id, Core: readText(topology+"physical_package_id") + "/" + readText(topology+"core_id"), Node: -1}
		if c.Core == "/" {
			c.Core = strconv.Itoa(id)
		}
		if node, known := nodes[id]; known {
			c.Node = node
		}
		all = append(all, c)
	}
	return all
}

// cpuNodes is the NUMA node of each CPU, as the kernel shows it below dir.
func cpuNodes(dir string) map[int]int {
	nodes := map[int]int{}
	folders, _ := filepath.Glob(filepath.Join(dir, "node[0-9]*"))
	for _, folder := range folders {
		if node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "node")); err == nil {
			for _, cpu := range cpuList(readText(filepath.Join(folder, "cpulist"))) {
				nodes[cpu] = node
			}
		}
	}
	return nodes
}

// cpuList reads CPUs in the kernel's notation, "0-3,8"; anything else is left out.
func cpuList(text string) (cpus []int) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, errTo := strconv.Atoi(high)
		if err != nil || errTo != nil || to-from > 1<<16 {
			continue
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// NodeOf is the NUMA node of a PCI device by its address, in nvidia-smi's notation
// ("00000000:65:00.0"); -1 if that is not known.
func NodeOf(address string) int {
	domain, rest, ok := strings.Cut(strings.ToLower(address), ":")
	if !ok || len(domain) < 4 || strings.ContainsAny(rest, "/\\") {
		return -1
	}
	node, err := strconv.Atoi(readText("/sys/bus/pci/devices/" + domain[len(domain)-4:] + ":" + rest + "/numa_node"))
	if err != nil {
		return -1
	}
	return node
}

// Share divides CPUs among places, each of which wants those of a NUMA node (-1 for any):
// whole cores, as many for each as for its neighbours on the node; left-over cores go to
// nobody, so places are alike. It returns nil if a place would have none.
func Share(cpus []CPU, nodes []int) [][]int {
	wanted := slices.Clone(nodes)
	known := func(node int) bool { return slices.ContainsFunc(cpus, func(c CPU) bool { return c.Node == node }) }
	if slices.ContainsFunc(nodes, func(node int) bool { return !known(node) }) {
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
