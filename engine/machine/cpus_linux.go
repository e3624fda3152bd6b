package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs are the logical CPUs that this process may run on, by number.
func CPUs() (all []CPU) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	nodes := cpuNodes("/sys/devices/system/node")
	for id := 0; len(all) < allowed.Count(); id++ {
		if !allowed.IsSet(id) {
			continue
		}
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
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "node"))
		if err != nil {
			continue
		}
		for _, cpu := range cpuList(readText(filepath.Join(folder, "cpulist"))) {
			nodes[cpu] = node
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
	text, err := os.ReadFile("/sys/bus/pci/devices/" + domain[len(domain)-4:] + ":" + rest + "/numa_node")
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return node
}
