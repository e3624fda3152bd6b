package machine

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// shownStatus are the lines of a thread's status that count, with their names here. A tracer, 0 if
// there is none, can read its memory and stop it.
var shownStatus = map[string]string{
	"Cpus_allowed_list": "cpus", "Mems_allowed_list": "memory nodes",
	"TracerPid": "tracer",
}

// Inherited is what engines get from this process, and what its measuring depends on: its CPUs,
// priority, timer slack, limits, control group and tracer, of all its threads, any of which may start
// the next engine. Values of different threads stand beside each other. It is empty where there is no
// /proc, see proc(5).
//
// Without CAP_SYS_NICE a thread can read no timer slack but its own, so one thread reads all of it: a
// goroutine that moves between two of them might find each of them the other one.
func Inherited() map[string]string {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	values := map[string]map[string]bool{}
	add := func(name, value string) {
		if values[name] == nil {
			values[name] = map[string]bool{}
		}
		values[name][value] = true
	}
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		stat, err := ReadStat(filepath.Join(thread, "stat"))
		if err != nil {
			continue // it ended
		}
		add("priority", priority(stat))
		for line := range strings.Lines(readText(filepath.Join(thread, "status"))) {
			name, value, _ := strings.Cut(line, ":")
			if shown := shownStatus[name]; shown != "" {
				add(shown, strings.TrimSpace(value))
			}
		}
		if slack := readText(filepath.Join("/proc", filepath.Base(thread), "timerslack_ns")); slack != "" {
			add("timer slack", slack+" ns")
		}
	}
	const nameWidth = 26
	for line := range strings.Lines(readText("/proc/self/limits")) {
		if len(line) > nameWidth && strings.HasPrefix(line, "Max ") {
			add("limit of "+strings.TrimSpace(line[len("Max "):nameWidth]),
				strings.Join(strings.Fields(line[nameWidth:]), " "))
		}
	}
	if group, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		add("control group", strings.Join(strings.Fields(string(group)), " "))
	}
	out := map[string]string{}
	for name, of := range values {
		out[name] = strings.Join(slices.Sorted(maps.Keys(of)), " | ")
	}
	return out
}
