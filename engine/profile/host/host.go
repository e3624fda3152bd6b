// Package host reads how long each thread of an engine was busy, from the operating
// system's kernel: without a profiler that slows it down, and for profiles without the
// host's side. Linux only.
package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/engine/profile"
)

// Snapshot is the CPU time of threads so far.
type Snapshot map[thread]used

type thread struct {
	pid, tid int
	// started distinguishes a thread from a later one with the same ID.
	started string
}

type used struct {
	name string
	ns   int64
}

// Read reads the CPU time of all threads of processes; proc is /proc. A process or thread
// that ends meanwhile is left out; if none is left, that is an error.
func Read(proc fs.FS, pids ...int) (Snapshot, error) {
	s := Snapshot{}
	for _, pid := range pids {
		dir := path.Join(strconv.Itoa(pid), "task")
		tasks, err := fs.ReadDir(proc, dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			if err := s.read(proc, path.Join(dir, task.Name()), pid, tid); err != nil {
				return nil, err
			}
		}
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("processes %v have no threads: they ended, or are in another PID namespace", pids)
	}
	return s, nil
}

func (s Snapshot) read(proc fs.FS, dir string, pid, tid int) error {
	stat, err := fs.ReadFile(proc, path.Join(dir, "stat"))
	if err != nil {
		return nil // it ended
	}
	// The name is in parentheses and may contain some itself.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return fmt.Errorf("/proc/%s/stat: %.80q has no name", dir, stat)
	}
	fields := bytes.Fields(stat[end+1:])
	const utime, stime, starttime = 11, 12, 19 // of what is behind the name
	if len(fields) <= starttime {
		return fmt.Errorf("/proc/%s/stat: %d fields after the name, required > %d", dir, len(fields), starttime)
	}
	user, err1 := strconv.ParseInt(string(fields[utime]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[stime]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("/proc/%s/stat: %w", dir, err)
	}
	ns := (user + system) * 1e7 // ticks of 10 ms
	if fine, err := fs.ReadFile(proc, path.Join(dir, "schedstat")); err == nil {
		if first, _, ok := bytes.Cut(fine, []byte(" ")); ok {
			if n, err := strconv.ParseInt(string(first), 10, 64); err == nil && n > 0 {
				ns = n
			}
		}
	}
	s[thread{pid, tid, string(fields[starttime])}] = used{string(stat[open+1 : end]), ns}
	return nil
}

// Since is how long each thread was busy since an earlier snapshot, busiest first. One
// that started since counts from its start; one that ended is unknown.
func (s Snapshot) Since(before Snapshot) []profile.Thread {
	var out []profile.Thread
	for t, u := range s {
		if ns := u.ns - before[t].ns; ns > 0 {
			out = append(out, profile.Thread{Name: fmt.Sprintf("%s, thread %d", u.name, t.tid), Total: float64(ns) / 1e3})
		}
	}
	slices.SortFunc(out, func(a, b profile.Thread) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return out
}
