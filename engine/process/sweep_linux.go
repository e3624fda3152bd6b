package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

// Sweep ends everything that an earlier mxflow started on behalf of owner (see
// Launch.Owner) and did not live to stop, waits until it is gone, and returns it, by PID.
// The caller must hold the lock on the state directory: Sweep cannot tell the engines of
// a dead mxflow from those of a live one.
//
// Leftovers are the processes with the owner's mark, their descendants, and processes
// that share a group with them if the leader of that group is dead or marked too.
// Processes with another owner's mark, this process, its ancestors, and all its
// descendants are spared. Processes of other users cannot be inspected and are ignored.
// The error names leftovers that do not end.
func Sweep(owner string) ([]Leftover, error) {
	if owner == "" {
		return nil, errors.New("sweep: no owner: everything would match")
	}
	mark := func(id procID) string { return id.env(envOwner) }
	swept := map[procID]Leftover{}
	limit := time.Now().Add(killWait)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		table, err := processTable()
		if err != nil {
			return sorted(swept), fmt.Errorf("sweep: %w", err)
		}
		left := leftovers(table, os.Getpid(), owner, func(p proc) string { return mark(p.procID) })
		if len(left) == 0 {
			return sorted(swept), nil
		}
		var stuck []int
		for id := range left {
			stuck = append(stuck, id.pid)
			if _, seen := swept[id]; !seen {
				swept[id] = Leftover{PID: id.pid, Command: id.command(), Launch: id.env(envLaunch)}
			}
			// ESRCH: it ended by itself. EPERM: it changed user, and will be reported as
			// stuck.
			_ = id.signal(unix.SIGKILL, func() bool {
				m := mark(id)
				return m == "" || m == owner
			})
		}
		if time.Now().After(limit) {
			return sorted(swept), fmt.Errorf("processes of an earlier run did not end within %s of SIGKILL: %s",
				engine.Brief(killWait), describePIDs(stuck))
		}
		time.Sleep(wait)
	}
}

// leftovers are the running processes to end, decided from the process table alone: mark
// is the owner's mark of a process, "" for none.
func leftovers(table []proc, self int, owner string, mark func(proc) string) map[procID]proc {
	safe := ours(table, self)
	skip := func(p proc) bool {
		if p.gone || safe[p.pid] {
			return true
		}
		m := mark(p)
		return m != "" && m != owner
	}
	byPID := make(map[int]proc, len(table))
	set := make(map[procID]proc)
	for _, p := range table {
		byPID[p.pid] = p
		if mark(p) == owner && !skip(p) {
			set[p.procID] = p
		}
	}
	descend(table, set, skip)

	groups := map[int]bool{}
	for _, p := range set {
		leader, listed := byPID[p.pgid]
		_, in := set[leader.procID]
		groups[p.pgid] = !listed || leader.gone || in
	}
	for _, p := range table {
		if groups[p.pgid] && !skip(p) {
			set[p.procID] = p
		}
	}
	descend(table, set, skip)
	return set
}

// ours is the process self, its ancestors, and all its descendants, by PID.
func ours(table []proc, self int) map[int]bool {
	byPID := make(map[int]proc, len(table))
	for _, p := range table {
		byPID[p.pid] = p
	}
	me := byPID[self]
	below := map[procID]proc{me.procID: me}
	descend(table, below, func(proc) bool { return false })
	safe := map[int]bool{self: true}
	for id := range below {
		safe[id.pid] = true
	}
	for pid := me.ppid; pid > 0 && !safe[pid]; pid = byPID[pid].ppid {
		safe[pid] = true
	}
	return safe
}

// command is the command line, spaces between the arguments.
func (id procID) command() string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(id.pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return logscan.Clean(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))
}

func sorted(swept map[procID]Leftover) []Leftover {
	var list []Leftover
	for _, s := range swept {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Leftover) int { return a.PID - b.PID })
	return list
}
