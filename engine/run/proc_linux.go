package run

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/internal/foreign"
)

// procID identifies a process uniquely: the kernel reuses PIDs, but never with the same
// start time.
type procID struct {
	pid   int
	start uint64 // clock ticks since boot
}

type proc struct {
	procID
	ppid, pgid int
	// gone is set if nothing of it runs any more; it only waits to be reaped by a parent
	// that may never do so.
	gone bool
	// environ is the environment that it was started with, as killAll read it.
	environ string
}

// processTable reads every visible process. Processes that end meanwhile are left out,
// and so are those that a restricted /proc hides; any other problem (no more file
// descriptors) is an error, so it is never taken for "nothing runs".
func processTable() (table []proc, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, err := readProc(pid)
		switch {
		case err == nil:
			table = append(table, p)
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, os.ErrPermission):
		default:
			return nil, err
		}
	}
	return table, nil
}

func readProc(pid int) (proc, error) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return proc{}, err
	}
	return parseStat(stat)
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// parseStat parses "pid (name) state ppid pgrp session …", see proc_pid_stat(5). The name
// may contain spaces and parentheses, so the fields are counted from the last one.
func parseStat(stat []byte) (p proc, err error) {
	const state, ppid, pgrp, threads, start = 0, 1, 2, 17, 19
	text, _, _ := bytes.Cut(stat, []byte(" "))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= start {
		return p, unix.ESRCH // it vanished meanwhile
	}
	number := func(text []byte) int { n, _ := strconv.Atoi(string(text)); return n }
	p.pid, p.ppid, p.pgid = number(text), number(fields[ppid]), number(fields[pgrp])
	p.start, _ = strconv.ParseUint(string(fields[start]), 10, 64)
	// A process whose main thread has ended shows as a zombie while its other threads
	// still run.
	p.gone = (fields[state][0] == 'Z' || fields[state][0] == 'X') && number(fields[threads]) <= 1
	return p, nil
}

// descendants are the processes of a table that still run and descend from top, without
// those that skip selects and what descends from those.
func descendants(table []proc, top map[int]bool, skip func(proc) bool) (found []proc) {
	in := map[int]bool{}
	for more := true; more; {
		more = false
		for _, p := range table {
			if (top[p.ppid] || in[p.ppid]) && !top[p.pid] && !in[p.pid] && !p.gone && !skip(p) {
				in[p.pid], more = true, true
				found = append(found, p)
			}
		}
	}
	return found
}

func none(proc) bool { return false }

// alive reports whether this very process still runs.
func (id procID) alive() bool {
	p, err := readProc(id.pid)
	return err == nil && p.procID == id && !p.gone
}

// env is a variable of the environment the process was started with. It is unknown for
// other users' processes, and for those that overwrote that memory.
func (p proc) env(key string) string {
	for kv := range strings.SplitSeq(p.environ, "\x00") {
		if value, ok := strings.CutPrefix(kv, key+"="); ok {
			return value
		}
	}
	return ""
}

// readEnviron reads the environment of a process. It reports whether the process is about to
// become another program, or to end, and so has neither arguments nor an environment; threads
// of the kernel never have any. One that has arguments may just have become that program.
func (p *proc) readEnviron() (inExec bool) {
	for again := 0; again < 3 && !p.gone && p.pgid != 0; again++ {
		environ, err := os.ReadFile(procFile(p.pid, "environ"))
		if p.environ = string(environ); err != nil || len(environ) > 0 {
			return false
		}
		if args, err := os.ReadFile(procFile(p.pid, "cmdline")); err != nil || len(args) == 0 {
			return err == nil
		}
	}
	return false
}

// name is what ps shows: at most 15 bytes, chosen by the process, safe to print.
func (id procID) name() string {
	name, _ := os.ReadFile(procFile(id.pid, "comm"))
	return foreign.Clean(bytes.TrimSuffix(name, []byte("\n")))
}

// signal sends sig to that process and to no other: the descriptor is opened first and
// the process behind the PID checked after, so a reused PID leads to an error, not to a
// signal to a stranger. On kernels without pidfd a window of microseconds remains.
func (id procID) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	switch {
	case !id.alive():
		return unix.ESRCH
	case err == nil:
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Kill(id.pid, sig) // EPERM: a sandbox may forbid only pidfds
	}
	return err
}

// killWait is how long the kernel gets to end processes after SIGKILL. Only a process
// stuck in a driver needs longer, and that one may never end.
const killWait = 30 * time.Second

// mostExec is how long a process that has no environment is waited for. One that gave it
// up for good is not to be found by a mark.
const mostExec = time.Second

// killAll kills the processes that find selects until there are none, or killWait has
// passed: then it returns those left. Those about to become another program are looked at
// again, as they have no mark until then.
func killAll(find func(table []proc) []proc) (stuck []int, err error) {
	began := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		table, err := processTable()
		if err != nil {
			return nil, err
		}
		stuck = nil
		inExec := false
		for i := range table {
			inExec = table[i].readEnviron() || inExec
		}
		for _, p := range find(table) {
			stuck = append(stuck, p.pid)
			// ESRCH: it ended by itself. EPERM: it changed user, and will be reported as
			// stuck.
			_ = p.signal(unix.SIGKILL)
		}
		over := time.Since(began)
		ended := len(stuck) == 0 && (over > mostExec || !inExec)
		if ended || over > killWait {
			return stuck, nil
		}
		time.Sleep(wait)
	}
}
