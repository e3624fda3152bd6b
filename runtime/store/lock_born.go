package store

import (
	"os"
	"strconv"
	"strings"
)

// born tells a process from one that has its number later, as a Holder has it;
// empty where the process runs no more, or where this system does not say.
func born(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return bornBy(numbered(), string(stat))
}

// numbered names the namespace in which this process sees the numbers of others, and
// the boot: the first namespace has one name on every machine, and a state directory
// may be shared.
func numbered() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	boot, unknown := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unknown != nil {
		return ""
	}
	return space + "@" + strings.TrimSpace(string(boot))
}

// bornBy reads proc_pid_stat(5): fields are counted behind the name, which may hold
// anything.
func bornBy(space, stat string) string {
	const state, threads, start = 0, 17, 19
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if space == "" || len(fields) <= start {
		return ""
	}
	// It waits to be reaped. With threads that run on it is alive.
	if (fields[state] == "Z" || fields[state] == "X") && (fields[threads] == "0" || fields[threads] == "1") {
		return ""
	}
	return space + " " + fields[start]
}

// dead reports whether who signed a lock is known to run no more: of a process whose
// number counts in another namespace, or on another machine, nothing is known here.
func dead(h *Holder) bool {
	space, _, ok := strings.Cut(h.Born, " ")
	return ok && space == numbered() && born(h.PID) != h.Born
}
