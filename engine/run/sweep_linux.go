package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/foreign"
)

// Sweep ends everything that an earlier mxflow started on behalf of owner (see
// Launch.Owner) and did not live to stop, and whose guard was killed too. It waits until
// that is gone, and returns it, by PID. The caller must hold the lock on the state
// directory: Sweep cannot tell the engines of a dead mxflow from those of a live one. The
// error names leftovers that do not end.
func Sweep(owner string) ([]Leftover, error) {
	if owner == "" {
		return nil, errors.New("sweep: no owner: everything would match")
	}
	swept := map[procID]Leftover{}
	stuck, err := killAll(func(table []proc) []proc {
		left := leftovers(table, os.Getpid(), owner, func(p proc) string { return p.env(envOwner) })
		for _, p := range left {
			if _, seen := swept[p.procID]; !seen {
				line, _ := os.ReadFile(procFile(p.pid, "cmdline"))
				command := bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '})
				swept[p.procID] = Leftover{PID: p.pid, Command: foreign.Clean(command), Launch: p.env(envLaunch)}
			}
		}
		return left
	})
	switch {
	case err != nil:
		err = fmt.Errorf("sweep: %w", err)
	case len(stuck) > 0:
		err = fmt.Errorf("processes of an earlier run did not end within %s of SIGKILL: %s",
			engine.Brief(killWait), describePIDs(stuck))
	}
	return slices.SortedFunc(maps.Values(swept), func(a, b Leftover) int { return cmp.Compare(a.PID, b.PID) }), err
}

// leftovers are the processes with the owner's mark and their descendants. Processes with
// another owner's mark, this process (self), its ancestors, and all its descendants are
// spared. Those of other users cannot be inspected and have no mark.
func leftovers(table []proc, self int, owner string, mark func(proc) string) (left []proc) {
	parents := map[int]int{}
	for _, p := range table {
		parents[p.pid] = p.ppid
	}
	spared := map[int]bool{}
	for pid := self; pid > 0 && !spared[pid]; pid = parents[pid] {
		spared[pid] = true
	}
	for _, p := range descendants(table, map[int]bool{self: true}, none) {
		spared[p.pid] = true
	}
	top := map[int]bool{}
	for _, p := range table {
		if !p.gone && !spared[p.pid] && mark(p) == owner {
			top[p.pid] = true
			left = append(left, p)
		}
	}
	return append(left, descendants(table, top, func(p proc) bool {
		m := mark(p)
		return spared[p.pid] || m != "" && m != owner
	})...)
}
