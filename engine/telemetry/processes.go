package telemetry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/measure"
)

// hz is the number of ticks per second that the kernel reports to user space, on every
// architecture that Go runs on.
const hz = 100

// engineUse counts what the engine's processes use of the host.
type engineUse struct {
	root string
	tape *tape
	// ticks are the processor ticks of every process seen, as last read, including those
	// that have ended, so that their sum never falls.
	ticks map[procID]float64
	meter machine.Meter
}

// procID identifies a process for good: PIDs are reused, start times are not.
type procID struct {
	pid   int
	start string
}

// sample reads the processes of own, and searches for what they share if that is asked.
func (e *engineUse) sample(own []int, search bool) {
	now := time.Now()
	seen := false
	for _, pid := range own {
		cells := stat(e.root, pid)
		if cells == nil {
			continue
		}
		user, err1 := strconv.ParseFloat(cells[statUser], 64)
		system, err2 := strconv.ParseFloat(cells[statSystem], 64)
		if err1 != nil || err2 != nil {
			continue
		}
		seen = true
		e.ticks[procID{pid, cells[statStart]}] = user + system
	}
	if !seen {
		return
	}
	var sum float64
	for _, n := range e.ticks {
		sum += n
	}
	e.tape.add(measure.EngineCPU, "", "s", now, sum/hz)
	memory, _ := e.meter.Read(own, search)
	e.tape.add(measure.EngineMemory, "", "GB", now, float64(memory)/1e9)
}

// Indices of the cells after the name in /proc/PID/stat, see proc_pid_stat(5), where they
// are numbered from 1 and the name is the second.
const (
	statParent = 4 - 3
	statUser   = 14 - 3
	statSystem = 15 - 3
	statStart  = 22 - 3
)

// stat is the cells of /proc/PID/stat after the name, which may hold anything; nil if
// there is no such process.
func stat(root string, pid int) []string {
	text, err := os.ReadFile(root + "proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	cells := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(cells) <= statStart {
		return nil
	}
	return cells
}

// parent is the parent of a process, 0 if unknown.
func parent(pid int) int {
	cells := stat("/", pid)
	if cells == nil {
		return 0
	}
	n, _ := strconv.Atoi(cells[statParent])
	return n
}

// containerUse is the memory that a container's control group holds.
type containerUse struct {
	root string
	tape *tape
	// folder is the control group once found, name its file of memory in use; of is the
	// container last looked for, and looked when.
	folder, name string
	of           string
	looked       time.Time
}

// groups are where Docker and Podman put containers below /sys/fs/cgroup, with systemd or
// without, in versions 2 and 1 of control groups.
var groups = []string{
	"system.slice/docker-ID.scope", "docker/ID", "machine.slice/libpod-ID.scope", "libpod_parent/libpod-ID",
	"user.slice/user-*.slice/user@*.service/user.slice/docker-ID.scope", "user.slice/user-*.slice/user@*.service/user.slice/libpod-ID.scope",
}

// sample records one value. Like docker stats, it does not count cached files that are
// kept only because nobody else needs the memory: an engine reads its weights through
// them.
func (c *containerUse) sample(id string, own []int) {
	if !plainID(id) {
		return
	}
	if c.folder == "" {
		if c.of == id && time.Since(c.looked) < ownEvery {
			return
		}
		c.of, c.looked = id, time.Now()
		if !c.find(id, own) {
			return
		}
	}
	now := time.Now()
	used, err := number(filepath.Join(c.folder, c.name))
	if err != nil {
		return // it has ended
	}
	used -= min(used, c.inactive())
	c.tape.add(measure.ContainerMemory, "", "GB", now, used/1e9)
}

// plainID reports whether a container's ID can be part of a path and of a
// pattern.
func plainID(id string) bool {
	return id != "" && strings.Trim(id, "0123456789abcdef") == ""
}

// inactive is the page cache that is not in active use, in bytes.
func (c *containerUse) inactive() float64 {
	text, err := os.ReadFile(filepath.Join(c.folder, "memory.stat"))
	if err != nil {
		return 0
	}
	name := "inactive_file "
	if c.name != current {
		name = "total_inactive_file "
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return n
		}
	}
	return 0
}

// The files with the memory in use, in versions 2 and 1 of control groups.
const (
	current = "memory.current"
	usage   = "memory.usage_in_bytes"
)

// find looks for the container's control group: first where container engines put it,
// then where its processes say that they are.
func (c *containerUse) find(id string, own []int) bool {
	var folders []string
	for _, g := range groups {
		folders = append(folders, strings.ReplaceAll(g, "ID", id))
	}
	for _, pid := range own {
		text, err := os.ReadFile(c.root + "proc/" + strconv.Itoa(pid) + "/cgroup")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(cells) == 3 && strings.Contains(cells[2], id) && (cells[1] == "" || strings.Contains(cells[1], "memory")) {
				folders = append(folders, upTo(cells[2], id))
			}
		}
	}
	for _, folder := range folders {
		for _, f := range []struct{ under, name string }{{"", current}, {"unified", current}, {"memory", usage}} {
			found, _ := filepath.Glob(filepath.Join(c.root, "sys/fs/cgroup", f.under, folder, f.name))
			if len(found) == 1 {
				c.folder, c.name = filepath.Dir(found[0]), f.name
				c.tape.untell("container")
				return true
			}
		}
	}
	c.tape.tell("container", "the memory of the container is unknown: it has no control group in /sys/fs/cgroup")
	return false
}

// upTo cuts a path after the element that contains the ID: anything below is only a part
// of the container.
func upTo(path, id string) string {
	at := strings.Index(path, id)
	end := strings.IndexByte(path[at:], '/')
	if end < 0 {
		return path
	}
	return path[:at+end]
}

// inContainer reports whether a process is in the control group of a container.
func inContainer(pid int, id string) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && strings.Contains(string(text), id)
}

// view is what one list of processes shows about a GPU.
type view struct {
	// ownMiB is what the engine holds; nil if unknown.
	ownMiB *float64
	// foreign is the number of processes that are not the engine's, -1 if unknown; who
	// describes them, and why is the reason if the number is unknown.
	foreign int
	who     []string
	why     string
}

// occupants distinguishes the engine's processes on GPUs from others.
type occupants struct {
	gpus   []string
	ignore []string
	idle   float64
	// kin is how a process relates to those of own and to the container.
	kin func(pid int, own []int, container string) relation
	// strangers are processes that do not exist here, and GPUs with memory that no
	// process accounts for, as of the previous list.
	strangers map[stranger]bool
}

type stranger struct {
	pid int
	gpu string
}

// look judges one list of processes. A process that no longer exists here, or memory that
// no process accounts for, may be about to disappear or have just appeared, so it counts
// only if it is in two lists in a row. nvidia-smi numbers processes as the machine does;
// inside a container it may show other numbers or nothing at all, and then nothing can be
// said unless it shows the engine's own.
func (o *occupants) look(list []gpu.Process, own []int, container string, used map[string]float64) map[string]view {
	if len(own) == 0 {
		o.strangers = nil
		return nil
	}
	views, now := map[string]view{}, map[stranger]bool{}
	for _, uuid := range o.gpus {
		v := view{}
		var ownMiB, shown float64
		ownSeen, allKnown, gone := false, true, 0
		for _, p := range list {
			if p.GPU != "" && p.GPU != uuid {
				continue
			}
			if p.MiB != nil {
				shown += *p.MiB
			}
			key := stranger{p.PID, uuid}
			rel := o.kin(p.PID, own, container)
			switch {
			case rel == kindred:
				ownSeen = true
				if p.MiB != nil && p.GPU != "" {
					ownMiB += *p.MiB
				} else {
					allKnown = false
				}
			case p.Ignored(o.ignore):
			case rel == missing:
				now[key] = true
				if o.strangers[key] {
					gone++
					v.who = append(v.who, p.String()+", which does not exist where mxflow runs")
				}
			default:
				v.foreign++
				v.who = append(v.who, p.String())
			}
		}
		if ownSeen && allKnown {
			v.ownMiB = &ownMiB
		}
		total, known := used[uuid]
		hidden := known && total-shown > o.idle
		key := stranger{-1, uuid}
		now[key] = hidden
		switch {
		case ownSeen:
			v.foreign += gone
			if hidden && o.strangers[key] {
				v.foreign++
				v.who = append(v.who, fmt.Sprintf("%.0f MiB not attributed to any process, such as one in another container", total-shown))
			}
		case v.foreign > 0: // at least those
		case known && !hidden && gone == 0:
		default:
			v = view{foreign: -1, why: "nvidia-smi shows none of the engine's processes there, as for an engine in its own container"}
		}
		views[uuid] = v
	}
	o.strangers = now
	return views
}

// relation is what a process is to the engine.
type relation int

const (
	foreign relation = iota
	kindred
	// missing means that there is no such process here.
	missing
)

// kinship searches the ancestors of a process for one of own, and its control group for
// the container.
func kinship(pid int, own []int, container string) relation {
	for p, depth := pid, 0; p > 1 && depth < 64; depth++ {
		if slices.Contains(own, p) {
			return kindred
		}
		p = parent(p)
	}
	switch {
	case container != "" && inContainer(pid, container):
		return kindred
	case !exists(pid):
		return missing
	}
	return foreign
}
