package machine

import (
	"os"
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
	used        Used
	meter       Meter
}

func newHost(root string, s *Sampler) *host {
	return &host{Sampler: s, root: root}
}

// sample reads everything once. search is for what takes longer: memory that the processes
// of own share.
func (h *host) sample(own []int, search bool) {
	h.cpu()
	if taken, ok := memoryInUse(h.root); ok {
		h.add(measure.HostMemory, "", "GB", time.Now(), taken)
	}
	h.engine(own, search)
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

// engine records what the processes of own use.
func (h *host) engine(own []int, search bool) {
	now := time.Now()
	seconds, seen := h.used.Read(h.root, own)
	if !seen {
		return
	}
	h.add(measure.EngineCPU, "", "s", now, seconds)
	memory, _ := h.meter.Read(own, search)
	h.add(measure.EngineMemory, "", "GB", now, float64(memory)/1e9)
}
