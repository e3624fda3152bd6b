package process

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// family is every process of one launch: those in its process group or session,
// all that descend from them, those seen as such before, and those that carry
// its mark in their environment. Only a process that escapes all four is
// missed: one that started its own session, lost its parent, dropped its
// environment, and did all that within a second.
type family struct {
	mu     sync.Mutex
	pgid   int // of the direct child, its leader, which stays a zombie to the end
	launch engine.Launch
	known  map[procID]proc
	ward   engine.Ward
	// termed are those that had their SIGTERM: a second one makes many servers
	// give up their orderly shutdown.
	termed      map[procID]bool
	groupTermed bool
}

func newFamily(pid int, l engine.Launch, w engine.Ward) *family {
	f := &family{pgid: pid, launch: l, ward: w, termed: map[procID]bool{}}
	if p, err := readProc(pid); err == nil {
		f.know(map[procID]proc{p.procID: p})
	}
	return f
}

// know keeps what was found, and says so where it differs from what was known.
func (f *family) know(set map[procID]proc) {
	same := len(set) == len(f.known)
	for id := range set {
		_, known := f.known[id]
		same = same && known
	}
	f.known = set
	if same {
		return
	}
	processes := make(map[int]uint64, len(set))
	for id := range set {
		processes[id.pid] = id.start
	}
	f.ward.Runs(processes)
}

// find searches the process table; marks also reads every environment, which
// costs more and is for when nothing is being measured. f.mu must be held.
func (f *family) find(marks bool) {
	self := os.Getpid()
	table, err := processTable()
	if err != nil {
		return // what cannot be seen is not gone
	}
	set := make(map[procID]proc)
	for _, p := range table {
		if p.pid == self {
			continue
		}
		_, known := f.known[p.procID]
		if known || p.pgid == f.pgid || p.sid == f.pgid ||
			marks && !p.gone && p.env(envLaunch) == f.launch.ID && p.env(envOwner) == f.launch.Owner {
			set[p.procID] = p
		}
	}
	descend(table, set, func(p proc) bool { return p.pid == self })
	for id, p := range set {
		if p.gone {
			delete(set, id)
		}
	}
	f.know(set)
}

// memory is the larger of the sum of what all known members hold now and the
// most that any one of them ever held.
func (f *family) memory(search bool) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if search {
		f.find(false)
	}
	var sum, most int64
	for id := range f.known {
		if !id.alive() {
			continue
		}
		now, peak := id.memory()
		sum += now
		most = max(most, peak)
	}
	return max(sum, most)
}

// terminate asks every member to end, once each, and reports whether any is
// left. The group is asked first, as Ctrl-C at a terminal would; what left the
// group is the engine's own to end, and asked only when the engine is gone.
func (f *family) terminate() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(true)
	if !f.groupTermed {
		f.groupTermed = true
		_ = unix.Kill(-f.pgid, unix.SIGTERM)
		_ = unix.Kill(-f.pgid, unix.SIGCONT) // a stopped process hears nothing
		for id, p := range f.known {
			f.termed[id] = p.pgid == f.pgid
		}
		return len(f.known) > 0
	}
	leaderGone := true
	for id := range f.known {
		leaderGone = leaderGone && id.pid != f.pgid
	}
	for id := range f.known {
		if leaderGone && !f.termed[id] {
			f.termed[id] = true
			_ = id.signal(unix.SIGTERM, always)
		}
	}
	return len(f.known) > 0
}

// kill ends every member and reports whether any was left.
func (f *family) kill() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.find(true)
	_ = unix.Kill(-f.pgid, unix.SIGKILL)
	for id := range f.known {
		_ = id.signal(unix.SIGKILL, always)
	}
	return len(f.known) > 0
}

// describe names what is left.
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

// PIDs implements Resident: the processes that were last seen of the launch. The
// process table is searched by the watch, about once a second.
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

// Descendants are a process and all that descend from it, without this one;
// none where it is not there.
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
