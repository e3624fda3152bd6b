package machine

import (
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Inherited is what this process passes on to its children, as far as their speed depends
// on it: cpus, memory_nodes, nice, policy, uclamp, io_priority, oom_score_adj,
// limit.NAME, and cgroup with cpu.max and the like. Any process of the same user can
// change it from outside, even for single threads, any of which may start something: if
// they differ, all their values are given. What cannot be found out is absent.
func Inherited() map[string]string {
	found := map[string]string{}
	seen := map[string]map[string]bool{}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		for name, value := range scheduling(tid) {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	for name, values := range seen {
		found[name] = strings.Join(slices.Sorted(maps.Keys(values)), " | ")
	}
	maps.Copy(found, limits(readText("/proc/self/limits")))
	maps.Copy(found, groups(readText("/proc/self/cgroup"), cgroupRoot))
	if text := readText("/proc/self/oom_score_adj"); text != "" {
		found["oom_score_adj"] = text
	}
	return found
}

// scheduling are the settings specific to one thread.
func scheduling(tid int) map[string]string {
	found := allowed(readText("/proc/self/task/" + strconv.Itoa(tid) + "/status"))
	if attr, err := unix.SchedGetAttr(tid, 0); err == nil {
		found["policy"] = policy(attr.Policy, attr.Priority)
		found["nice"] = strconv.Itoa(int(attr.Nice))
		found["uclamp"] = strconv.Itoa(int(attr.Util_min)) + "-" + strconv.Itoa(int(attr.Util_max))
	}
	const ofThread = 1
	if value, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ofThread, uintptr(tid), 0); errno == 0 {
		found["io_priority"] = ioPriority(int(value))
	}
	return found
}

func policy(number, priority uint32) string {
	names := map[uint32]string{unix.SCHED_NORMAL: "other", unix.SCHED_FIFO: "fifo", unix.SCHED_RR: "rr", unix.SCHED_BATCH: "batch", unix.SCHED_IDLE: "idle", unix.SCHED_DEADLINE: "deadline"}
	name := names[number]
	if name == "" {
		name = strconv.Itoa(int(number))
	}
	if priority > 0 {
		name += " " + strconv.Itoa(int(priority))
	}
	return name
}

// ioPriority reads what ioprio_get returns. A thread that has none has the default, which
// some kernels report as a value only once it has read something, and some even before.
func ioPriority(value int) string {
	const none, realtime, bestEffort, idle, usual = 0, 1, 2, 3, 4
	class, level := value>>13, value&7
	switch {
	case class == none, class == bestEffort && level == usual:
		return "default"
	case class == idle:
		return "idle"
	case class == realtime:
		return "realtime " + strconv.Itoa(level)
	}
	return "best-effort " + strconv.Itoa(level)
}

// allowed reads /proc/PID/status: the CPUs, and the NUMA nodes of memory, that may be used.
func allowed(status string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Cpus_allowed_list":
			found["cpus"] = strings.TrimSpace(value)
		case "Mems_allowed_list":
			found["memory_nodes"] = strings.TrimSpace(value)
		}
	}
	return found
}

// limits reads /proc/PID/limits: the soft limit, and the hard one if it differs.
func limits(text string) map[string]string {
	const nameWidth = 25
	found := map[string]string{}
	for line := range strings.Lines(text) {
		name, isLimit := strings.CutPrefix(line[:min(nameWidth, len(line))], "Max ")
		values := strings.Fields(line[min(nameWidth, len(line)):])
		if !isLimit || len(values) < 2 {
			continue
		}
		value := values[0]
		if values[1] != value {
			value += " of " + values[1]
		}
		found["limit."+strings.ReplaceAll(strings.TrimSpace(name), " ", "_")] = value
	}
	return found
}

const cgroupRoot = "/sys/fs/cgroup"

// groupLimits are the files of a control group that bound its members.
var groupLimits = []string{"cpu.max", "cpu.weight", "memory.high", "memory.max"}

// groups reads /proc/PID/cgroup: the group, one for each hierarchy of version 1, and the
// limits of version 2 from the group up to the root of its hierarchy.
func groups(text, root string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		hierarchy, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		if hierarchy != "" {
			found["cgroup."+strings.TrimPrefix(hierarchy, "name=")] = group
			continue
		}
		found["cgroup"] = group
		for _, file := range groupLimits {
			var values []string
			for at := path.Clean("/" + group); ; at = path.Dir(at) {
				if value := readText(path.Join(root, at, file)); value != "" {
					values = append(values, value)
				}
				if at == "/" {
					break
				}
			}
			if len(values) > 0 {
				found[file] = strings.Join(values, ", ")
			}
		}
	}
	return found
}
