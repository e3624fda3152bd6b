package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
)

// procID identifies a process uniquely: the kernel reuses PIDs, but never with the same
// start time.
type procID struct {
	pid   int
	start uint64 // clock ticks since boot
}

// proc is one row of the process table.
type proc struct {
	procID
	ppid, pgid, sid int
	// gone is set if nothing of it runs any more; it only waits to be reaped by a parent
	// that may never do so.
	gone bool
}

// processTable reads every visible process. Processes that end meanwhile are left out,
// and so are those that a restricted /proc hides; any other problem (no more file
// descriptors) is an error, so it is never taken for "nothing runs".
func processTable() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
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

// readProc reads /proc/<pid>/stat.
func readProc(pid int) (proc, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	p, ok := parseStat(pid, stat)
	if !ok {
		return proc{}, unix.ESRCH // it vanished meanwhile
	}
	return p, nil
}

// parseStat parses "pid (name) state ppid pgrp session …", see proc_pid_stat(5). The name
// may contain spaces and parentheses, so the fields are counted from the last one.
func parseStat(pid int, stat []byte) (proc, bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return proc{}, false
	}
	const ppid, pgrp, session, threads, start = 1, 2, 3, 17, 19 // state is 0
	fields := bytes.Fields(stat[end+1:])
	if len(fields) <= start {
		return proc{}, false
	}
	num := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i]))
		return n
	}
	p := proc{procID: procID{pid: pid}, ppid: num(ppid), pgid: num(pgrp), sid: num(session)}
	p.start, _ = strconv.ParseUint(string(fields[start]), 10, 64)
	state := fields[0][0]
	// A process whose main thread has ended shows as a zombie while its other threads
	// still run.
	p.gone = (state == 'Z' || state == 'X') && num(threads) <= 1
	return p, true
}

// alive reports whether this very process still runs.
func (id procID) alive() bool {
	p, err := readProc(id.pid)
	return err == nil && p.start == id.start && !p.gone
}

// env is a variable of the environment the process was started with. It is unknown for
// other users' processes, and for those that overwrote that memory.
func (id procID) env(key string) string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(id.pid) + "/environ")
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if k, v, ok := bytes.Cut(kv, []byte{'='}); ok && string(k) == key {
			return string(v)
		}
	}
	return ""
}

// name is what ps shows: at most 15 bytes, chosen by the process, safe to print.
func (id procID) name() string {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(id.pid) + "/comm")
	return logscan.Clean(bytes.TrimSuffix(name, []byte("\n")))
}

// signal sends sig to that process and to no other: the descriptor is opened first and
// the process behind the PID checked after, so a reused PID leads to an error, not to a
// signal to a stranger. still is checked once more at that moment. On kernels without
// pidfd a window of microseconds remains.
func (id procID) signal(sig unix.Signal, still func() bool) error {
	fd, err := unix.PidfdOpen(id.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if !id.alive() || !still() {
		return unix.ESRCH
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Kill(id.pid, sig) // EPERM: a sandbox may forbid only pidfds
	}
	return err
}

// descend adds all descendants of set's members to it, except what stop selects; nothing
// below that is searched.
func descend(table []proc, set map[procID]proc, stop func(proc) bool) {
	children := make(map[int][]proc)
	for _, p := range table {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var open []proc
	for _, p := range set {
		open = append(open, p)
	}
	for len(open) > 0 {
		parent := open[len(open)-1]
		open = open[:len(open)-1]
		for _, p := range children[parent.pid] {
			if _, in := set[p.procID]; in || stop(p) {
				continue
			}
			set[p.procID] = p
			open = append(open, p)
		}
	}
}

// startOn starts cmd restricted to these CPUs, or all if there are none: it inherits the
// affinity of the thread that forks it, which is locked to the caller.
func startOn(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	var before, own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("cannot read mxflow's CPU affinity: %w", err)
	}
	for _, cpu := range cpus {
		own.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return fmt.Errorf("cannot bind it to CPUs %v: %w", cpus, err)
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); err == nil && back != nil {
		err = fmt.Errorf("cannot restore mxflow's CPU affinity: %w", back)
	}
	return err
}

// sigChild is siginfo_t as the kernel fills it for SIGCHLD on 64-bit machines; package
// unix keeps this part opaque.
type sigChild struct {
	_      [3]int32 // signo, errno, code
	_      int32
	pid    int32
	_      uint32
	status int32
	_      [100]byte
}

// The kernel writes a whole siginfo_t: a smaller struct must not compile.
const _ = unsafe.Sizeof(sigChild{}) - unsafe.Sizeof(unix.Siginfo{})

// awaitExit waits until some child has ended, and leaves it a zombie. The error is that
// there is none.
func awaitExit() (pid int, exit engine.Exit, err error) {
	var info sigChild
	si := (*unix.Siginfo)(unsafe.Pointer(&info))
	for {
		err := unix.Waitid(unix.P_ALL, 0, si, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return 0, engine.Exit{Code: -1, Signal: "unknown"}, err
		}
	}
	const cldExited = 1
	if si.Code == cldExited {
		return int(info.pid), engine.Exit{Code: int(info.status)}, nil
	}
	return int(info.pid), engine.Exit{Code: -1, Signal: signalName(syscall.Signal(info.status))}, nil
}
