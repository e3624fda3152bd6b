package telemetry

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

// host reads this machine's own counters. Paths are below root, which is "/" except in
// tests.
type host struct {
	root string
	tape *tape
	// busy and total are the processors' ticks as last read.
	busy, total float64
	energy      *rapl
	engine      engineUse
	container   containerUse
}

// ownEvery is how often the engine's processes are looked up.
const ownEvery = time.Second

func newHost(root string, t *tape) *host {
	h := &host{root: root, tape: t}
	h.energy = newRAPL(root, t)
	h.engine = engineUse{root: root, tape: t, ticks: map[procID]float64{}}
	h.container = containerUse{root: root, tape: t}
	return h
}

// sample reads everything once; search is for memory that the processes of own share.
func (h *host) sample(own []int, search bool, container string) {
	h.cpu()
	h.memory()
	h.energy.sample(h.tape)
	h.engine.sample(own, search)
	h.container.sample(container, own)
}

// cpu records the share of all cores in use since the last sample, from the first line of
// /proc/stat, see proc_stat(5). Waiting for a disk counts as idle; a guest's time is
// already in user.
func (h *host) cpu() {
	text, err := os.ReadFile(h.root + "proc/stat")
	now := time.Now()
	if err != nil {
		return
	}
	line, _, _ := strings.Cut(string(text), "\n")
	cells := strings.Fields(line)
	if len(cells) < 5 || cells[0] != "cpu" {
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
	if first || spent <= 0 {
		return
	}
	h.tape.add(measure.HostCPU, "", "", now, min(1, max(0, busy/spent)))
}

// memory records how much of the machine's memory is in use.
func (h *host) memory() {
	if taken, ok := memoryInUse(h.root); ok {
		h.tape.add(measure.HostMemory, "", "GB", time.Now(), taken)
	}
}

// memoryInUse is how much of the machine's memory is not available to anyone else, in GB.
func memoryInUse(root string) (float64, bool) {
	text, err := os.ReadFile(root + "proc/meminfo")
	if err != nil {
		return 0, false
	}
	total, ok := kib(text, "MemTotal:")
	free, ok2 := kib(text, "MemAvailable:")
	return (total - free) * 1024 / 1e9, ok && ok2 && total >= free
}

// kib is the number in a line of meminfo, in KiB.
func kib(text []byte, name string) (float64, bool) {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return n, err == nil
		}
	}
	return 0, false
}

// number reads a file that holds one number.
func number(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return float64(n), err
}

// denied reports whether a file exists but may not be read.
func denied(err error) bool { return errors.Is(err, fs.ErrPermission) }

// rapl adds up the energy that the packages of this machine's processors have used, from
// the kernel's powercap (Intel's and AMD's alike). Parts of a package, such as its cores,
// are already in the package's count, and so are those listed a second time for another
// interface (intel-rapl-mmio).
type rapl struct {
	zones []*zone
	joule float64
}

// hostEnergy reports whether this machine's energy can be read.
func hostEnergy() bool { return len(newRAPL("/", newTape(time.Now())).zones) > 0 }

// zone is one package's counter.
type zone struct {
	path string
	// last and limit are in µJ; the counter restarts at 0 after limit.
	last, limit float64
}

func newRAPL(root string, t *tape) *rapl {
	r := &rapl{}
	paths, _ := filepath.Glob(root + "sys/class/powercap/intel-rapl:*")
	for _, path := range paths {
		name, err := os.ReadFile(filepath.Join(path, "name"))
		if err != nil || !strings.HasPrefix(string(name), "package") {
			continue
		}
		z := &zone{path: filepath.Join(path, "energy_uj")}
		if z.last, err = number(z.path); err != nil {
			if denied(err) {
				t.tell("rapl", "host energy was not recorded: only root can read %s", z.path)
			} else {
				t.tell("rapl", "host energy was not recorded: %v", err)
			}
			return &rapl{}
		}
		z.limit, _ = number(filepath.Join(path, "max_energy_range_uj"))
		r.zones = append(r.zones, z)
	}
	return r
}

// sample records one value for all packages together, or none if one of them cannot be
// read.
func (r *rapl) sample(t *tape) {
	if len(r.zones) == 0 {
		return
	}
	now, spent := time.Now(), 0.0
	for _, z := range r.zones {
		n, err := number(z.path)
		if err != nil || (n < z.last && z.limit < z.last) {
			t.tell("rapl", "host energy was not recorded from %.1f s on: cannot follow %s", now.Sub(t.zero).Seconds(), z.path)
			r.zones = nil
			return
		}
		if n < z.last {
			spent += z.limit - z.last + n
		} else {
			spent += n - z.last
		}
		z.last = n
	}
	r.joule += spent / 1e6
	t.add(measure.HostEnergy, "", "J", now, r.joule)
}
