package process

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
)

// family is every process of one launch: all descendants of its guard. If the guard is
// lost, it is the processes with its session, those seen before, and those with the
// launch's mark in their environment.
type family struct {
	mu     sync.Mutex
	child  *child
	launch engine.Launch
	known  map[procID]proc
	meter  machine.Meter
	// termed are those that got SIGTERM: a second one makes many servers give up their
	// graceful shutdown.
	termed      map[procID]bool
	groupTermed bool
	// linger is how long processes that outlive the engine may take to end by themselves,
	// and alone since when the engine is gone. left are those that were ended after that.
	linger time.Duration
	alone  time.Time
	left   map[procID]string
}

func newFamily(c *child, l engine.Launch, grace time.Duration) *family {
	return &family{child: c, launch: l, linger: min(mostLinger, grace/2), termed: map[procID]bool{}, left: map[procID]string{}}
}

// mostLinger is how long workers, and trackers of their resources, take at most to notice
// that their engine is gone.
const mostLinger = 2 * time.Second

// find searches the process table; marks also reads every environment, which costs more
// and is for when nothing is being measured. f.mu must be held.
func (f *family) find(marks bool) {
	table, err := processTable()
	if err != nil {
		return // what cannot be seen is not gone
	}
	set := make(map[procID]proc)
	guard := proc{}
	for _, p := range table {
		_, known := f.known[p.procID]
		switch {
		case p.pid == os.Getpid():
		case p.pid == f.child.guard:
			guard = p
		case known, p.sid == f.child.guard,
			marks && !p.gone && p.env(envLaunch) == f.launch.ID && p.env(envOwner) == f.launch.Owner:
			set[p.procID] = p
		}
	}
	set[guard.procID] = guard
	descend(table, set, func(p proc) bool { return p.pid == os.Getpid() })
	delete(set, guard.procID)
	for id, p := range set {
		if p.gone {
			delete(set, id)
		}
	}
	f.known = set
}

// memory is the larger of all known members' present memory and the maximum of any one of
// them.
func (f *family) memory(search bool) int64 {
	if search {
		f.mu.Lock()
		f.find(false)
		f.mu.Unlock()
	}
	now, peak := f.meter.Read(f.pids(), search)
	return max(now, peak)
}

// terminate asks every member to end, once each, and reports whether any is left. The
// group is asked first, as Ctrl-C at a terminal would; processes that left the group are
// the engine's to end, and asked only when the engine is gone.
func (f *family) terminate() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(true)
	if !f.groupTermed {
		f.groupTermed = true
		asked := f.signalGroup(unix.SIGTERM)
		_ = f.signalGroup(unix.SIGCONT) // a stopped process receives nothing
		for id, p := range f.known {
			f.termed[id] = asked && p.pgid == f.child.pid
		}
	} else if f.outlived() {
		for id := range f.known {
			if !f.termed[id] {
				f.end(id, unix.SIGTERM)
			}
		}
	}
	return len(f.known) > 0
}

// kill ends every member and reports whether any was left.
func (f *family) kill() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(true)
	_ = f.signalGroup(unix.SIGKILL)
	for id := range f.known {
		f.end(id, unix.SIGKILL)
	}
	return len(f.known) > 0
}

// signalGroup signals the engine's group atomically, while its guard keeps the ID from
// reuse; false if it does not.
func (f *family) signalGroup(sig unix.Signal) bool {
	guarded := !f.child.unguarded()
	if guarded {
		_ = unix.Kill(-f.child.pid, sig)
	}
	return guarded
}

// outlived reports whether the remaining processes have outlived the engine for the
// allowed time.
func (f *family) outlived() bool {
	for id := range f.known {
		if id.pid == f.child.pid {
			return false
		}
	}
	if f.alone.IsZero() {
		f.alone = time.Now()
	}
	return time.Since(f.alone) >= f.linger
}

// end signals a member, and records its name if it should have ended before.
func (f *family) end(id procID, sig unix.Signal) {
	if !f.alone.IsZero() && f.outlived() {
		f.left[id] = id.name()
	}
	f.termed[id] = true
	_ = id.signal(sig, always)
}

// describe names the remaining processes.
func (f *family) describe() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pids []int
	for id := range f.known {
		pids = append(pids, id.pid)
	}
	return describePIDs(pids)
}

func always() bool { return true }

// PIDs implements Resident: the launch's processes as last seen. The watch searches the
// process table about once a second.
func (p *process) PIDs() []int { return p.family.pids() }

func (f *family) pids() (list []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.known {
		if id.alive() {
			list = append(list, id.pid)
		}
	}
	return list
}

// Descendants are a process and all its descendants, without this process; none if it
// does not exist.
func Descendants(pid int) (list []int) {
	leader, err := readProc(pid)
	if err != nil {
		return nil
	}
	table, err := processTable()
	if err != nil {
		return nil
	}
	self := os.Getpid()
	set := map[procID]proc{leader.procID: leader}
	descend(table, set, func(p proc) bool { return p.pid == self })
	for id, p := range set {
		if !p.gone {
			list = append(list, id.pid)
		}
	}
	return list
}

// Left implements engine.Leaver.
func (p *process) Left() []string { return p.family.leftOver() }

func (f *family) leftOver() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Values(f.left))
}
