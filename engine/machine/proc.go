package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// hz is the number of ticks per second that the kernel reports to user space, on every
// architecture that Go runs on.
const hz = 100

// ProcessStat is a row of the process table, or one of its threads.
type ProcessStat struct {
	PID int
	// Name is what ps shows: at most 15 bytes, chosen by the process, not safe to print.
	Name string
	// State is 'Z' or 'X' for what has ended.
	State                                 byte
	Parent, Group, Session, Threads, Nice int
	// Policy is the scheduling policy as a number, see sched(7), RealTime its priority.
	Policy, RealTime int
	// User and System are processor time in ticks of 1/100 s; Start is in ticks since the
	// boot, and with the PID identifies a process for good: PIDs are reused.
	User, System, Start uint64
}

// ReadStat reads /proc/PID/stat or /proc/PID/task/TID/stat; ESRCH if it vanished meanwhile.
func ReadStat(path string) (ProcessStat, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return ProcessStat{}, err
	}
	if s, ok := parseStat(text); ok {
		return s, nil
	}
	return ProcessStat{}, &os.PathError{Op: "parse", Path: path, Err: syscall.ESRCH}
}

// parseStat reads "pid (name) state ppid pgrp session …", see proc_pid_stat(5). The name
// may contain spaces and parentheses, so the cells are counted from the last one.
func parseStat(text []byte) (s ProcessStat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return s, false
	}
	const state, parent, group, session, user, system, nice, threads, start, realTime, policy = 0, 1, 2, 3, 11, 12,
		16, 17, 19, 37, 38
	cells := bytes.Fields(text[end+1:])
	if len(cells) <= start {
		return s, false
	}
	bad := false
	number := func(i int) int {
		if i >= len(cells) {
			return 0
		}
		n, err := strconv.Atoi(string(cells[i]))
		bad = bad || err != nil
		return n
	}
	s = ProcessStat{
		Name: string(text[open+1 : end]), State: cells[state][0], Parent: number(parent), Group: number(group),
		Session: number(session),
		Threads: number(threads), Nice: number(nice), Policy: number(policy), RealTime: number(realTime),
		User: uint64(number(user)), System: uint64(number(system)), Start: uint64(number(start)),
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	s.PID = pid
	return s, err == nil && !bad
}

// procID identifies a process for good: PIDs are reused, start times are not.
type procID struct {
	pid   int
	start uint64
}

// Used adds up the processor time of processes. The zero value is ready to use.
type Used struct{ ticks map[procID]uint64 }

// Read is the time so far of every process that it was ever asked for, in seconds: those
// that have ended are included, so it never falls. seen is set if any of these is there.
// Paths are below root, which is "/" except in tests.
func (u *Used) Read(root string, pids []int) (seconds float64, seen bool) {
	if u.ticks == nil {
		u.ticks = map[procID]uint64{}
	}
	for _, pid := range pids {
		if s, err := statOf(root, pid); err == nil {
			seen = true
			u.ticks[procID{pid, s.Start}] = s.User + s.System
		}
	}
	var sum uint64
	for _, n := range u.ticks {
		sum += n
	}
	return float64(sum) / hz, seen
}

// Busy reports whether a thread of these processes runs, or would if it had a processor,
// or waits for a disk or a driver.
func Busy(pids []int) bool {
	for _, pid := range pids {
		threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
		if slices.ContainsFunc(threads, func(path string) bool {
			s, err := ReadStat(path)
			return err == nil && (s.State == 'R' || s.State == 'D')
		}) {
			return true
		}
	}
	return false
}

// statOf is the row of a process below root, which is "/" except in tests.
func statOf(root string, pid int) (ProcessStat, error) {
	return ReadStat(root + "proc/" + strconv.Itoa(pid) + "/stat")
}

// readText is the trimmed text of a small file, empty if it cannot be read.
func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// lineOf is the rest of the line of a text that starts with a name; false if there is none.
func lineOf(text, name string) (string, bool) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// kib is a number in KiB in the notation of /proc/meminfo and /proc/PID/status.
func kib(text, name string) (int64, bool) {
	rest, ok := lineOf(text, name)
	n, err := strconv.ParseInt(strings.TrimSuffix(rest, " kB"), 10, 64)
	return n, ok && err == nil
}
