package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// host reads this machine's own counters, and what the engine's processes use of them.
// Paths are below root, which is "/" except in tests.
type host struct {
	*Sampler
	root string
	// busy and total are the processors' ticks as last read.
	busy, total float64
	// zones are the processors whose energy is read, joule what they have used so far.
	zones []*zone
	joule float64
	// ticks are the processor ticks of every process seen, as last read, including those
	// that have ended, so their sum never falls.
	ticks map[procID]uint64
	meter Meter
	// group is the container's control group once found, groupFile its file of memory in
	// use, and noGroup is set while there is none.
	group, groupFile string
	noGroup          bool
}

// procID identifies a process for good: PIDs are reused, start times are not.
type procID struct {
	pid   int
	start uint64
}

func newHost(root string, s *Sampler) *host {
	h := &host{Sampler: s, root: root, ticks: map[procID]uint64{}}
	h.findZones()
	return h
}

// sample reads everything once. search is for what takes longer: memory that the processes
// of own share, and the container's control group.
func (h *host) sample(own []int, search bool, container string) {
	h.cpu()
	if taken, ok := memoryInUse(h.root); ok {
		h.add(measure.HostMemory, "", "GB", time.Now(), taken)
	}
	h.energy()
	h.engine(own, search)
	if strings.Trim(container, "0123456789abcdef") == "" && container != "" {
		h.container(container, own, search)
	}
}

// cpu records the share of all cores in use since the last sample, from the first line of
// /proc/stat, see proc_stat(5). Waiting for a disk counts as idle; a guest's time is
// already in user.
func (h *host) cpu() {
	text, err := os.ReadFile(h.root + "proc/stat")
	now := time.Now()
	line, _, _ := strings.Cut(string(text), "\n")
	cells := strings.Fields(line)
	if err != nil || len(cells) < 5 || cells[0] != "cpu" {
		return
	}
	var total, idle float64
	for i, cell := range cells[1:min(len(cells), 9)] {
		n, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return
		}
		total += n
		if i == 3 || i == 4 {
			idle += n
		}
	}
	spent, busy := total-h.total, (total-idle)-h.busy
	first := h.total == 0
	h.total, h.busy = total, total-idle
	// The ticks of idle processors may decrease a little.
	if !first && spent > 0 {
		h.add(measure.HostCPU, "", "", now, min(1, max(0, busy/spent)))
	}
}

// memoryInUse is how much of the machine's memory is not available to anyone else, in GB.
func memoryInUse(root string) (float64, bool) {
	text := readText(root + "proc/meminfo")
	total, ok := kib(text, "MemTotal:")
	free, ok2 := kib(text, "MemAvailable:")
	return float64(total-free) * 1024 / 1e9, ok && ok2 && total >= free
}

func number(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return float64(n), err
}

// zone is the energy counter of one package of processors, from the kernel's powercap
// (Intel's and AMD's alike).
type zone struct {
	path string
	// last and limit are in µJ; the counter restarts at 0 after limit.
	last, limit float64
}

// findZones finds the packages. Parts of one, such as its cores, are already in its count,
// and so are those listed a second time for another interface (intel-rapl-mmio).
func (h *host) findZones() {
	paths, _ := filepath.Glob(h.root + "sys/class/powercap/intel-rapl:*")
	for _, path := range paths {
		if !strings.HasPrefix(readText(filepath.Join(path, "name")), "package") {
			continue
		}
		z := &zone{path: filepath.Join(path, "energy_uj")}
		var err error
		if z.last, err = number(z.path); err != nil {
			h.zones = nil
			if errors.Is(err, fs.ErrPermission) {
				h.tell("rapl", "host energy was not recorded: only root can read %s", z.path)
			} else {
				h.tell("rapl", "host energy was not recorded: %v", err)
			}
			return
		}
		z.limit, _ = number(filepath.Join(path, "max_energy_range_uj"))
		h.zones = append(h.zones, z)
	}
}

// energy records one value for all packages together, or none if one of them cannot be
// read.
func (h *host) energy() {
	if len(h.zones) == 0 {
		return
	}
	now := time.Now()
	for _, z := range h.zones {
		n, err := number(z.path)
		if err != nil || (n < z.last && z.limit < z.last) {
			h.tell("rapl", "host energy was not recorded from %.1f s on: cannot follow %s", h.seconds(now), z.path)
			h.zones = nil
			return
		}
		if n < z.last {
			h.joule += z.limit / 1e6
		}
		h.joule += (n - z.last) / 1e6
		z.last = n
	}
	h.add(measure.HostEnergy, "", "J", now, h.joule)
}

// engine records what the processes of own use.
func (h *host) engine(own []int, search bool) {
	now := time.Now()
	seen := false
	for _, pid := range own {
		if s, err := statOf(h.root, pid); err == nil {
			seen = true
			h.ticks[procID{pid, s.Start}] = s.User + s.System
		}
	}
	if !seen {
		return
	}
	var sum uint64
	for _, n := range h.ticks {
		sum += n
	}
	h.add(measure.EngineCPU, "", "s", now, float64(sum)/hz)
	memory, _ := h.meter.Read(own, search)
	h.add(measure.EngineMemory, "", "GB", now, float64(memory)/1e9)
}

// container records the memory that a container's control group holds. Like docker stats,
// it does not count cached files that are kept only because nobody else needs the memory:
// an engine reads its weights through them.
func (h *host) container(id string, own []int, search bool) {
	if h.group == "" && search {
		h.findGroup(id, own)
	}
	if h.group == "" {
		return
	}
	now := time.Now()
	used, err := number(filepath.Join(h.group, h.groupFile))
	if err != nil {
		return // it has ended
	}
	stat, name := readText(filepath.Join(h.group, "memory.stat")), "inactive_file "
	if h.groupFile == groupUsage {
		name = "total_inactive_file "
	}
	if rest, ok := lineOf(stat, name); ok {
		inactive, _ := strconv.ParseFloat(rest, 64)
		used -= min(used, inactive)
	}
	h.add(measure.ContainerMemory, "", "GB", now, used/1e9)
}

// The files with the memory in use, in versions 2 and 1 of control groups.
const (
	groupCurrent = "memory.current"
	groupUsage   = "memory.usage_in_bytes"
)

// findGroup looks for the container's control group where its processes say that they are.
func (h *host) findGroup(id string, own []int) {
	for _, pid := range own {
		for line := range strings.Lines(readText(h.root + "proc/" + strconv.Itoa(pid) + "/cgroup")) {
			cells := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(cells) != 3 || !strings.Contains(cells[2], id) {
				continue
			}
			// Anything below the element with its ID is only a part of the container.
			before, after, _ := strings.Cut(cells[2], id)
			rest, _, _ := strings.Cut(after, "/")
			folder, file := filepath.Join(h.root, "sys/fs/cgroup", before+id+rest), groupCurrent
			if cells[1] != "" {
				folder, file = filepath.Join(h.root, "sys/fs/cgroup/memory", before+id+rest), groupUsage
			}
			if _, err := number(filepath.Join(folder, file)); err == nil {
				h.group, h.groupFile, h.noGroup = folder, file, false
				return
			}
		}
	}
	h.noGroup = true
}
