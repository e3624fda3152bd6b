package machine

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// machine reads the cpu, cpu_limit, mem_gib, kernel and priority entries of Environment.
func machine() map[string]string {
	return map[string]string{
		"cpu":       cpuModel(readText("/proc/cpuinfo")),
		"cpu_limit": cpuLimit(groups(readText("/proc/self/cgroup"), cgroupRoot)),
		"mem_gib":   gib(1024 * memTotal(readText("/proc/meminfo"))),
		"kernel":    readText("/proc/sys/kernel/osrelease"),
		"priority":  priority(scheduling(os.Getpid())),
	}
}

// cpuLimit is the smallest CPU quota of a control group of version 2 and those above it,
// in CPUs ("1.5"), or "none"; empty if a quota cannot be read, or is one of version 1.
// Format: docs.kernel.org/admin-guide/cgroup-v2.html, "cpu.max".
func cpuLimit(groups map[string]string) string {
	if _, ok := groups["cgroup"]; !ok {
		return ""
	}
	for name := range groups {
		if controllers, ok := strings.CutPrefix(name, "cgroup."); ok && slices.Contains(strings.Split(controllers, ","), "cpu") {
			return ""
		}
	}
	least := math.Inf(1)
	for _, quota := range strings.FieldsFunc(groups["cpu.max"], func(r rune) bool { return r == ',' }) {
		words := strings.Fields(quota)
		if len(words) != 2 {
			return ""
		}
		if words[0] == "max" {
			continue
		}
		most, err := strconv.ParseUint(words[0], 10, 64)
		period, periodErr := strconv.ParseUint(words[1], 10, 64)
		if err != nil || periodErr != nil || period == 0 {
			return ""
		}
		least = min(least, float64(most)/float64(period))
	}
	if math.IsInf(least, 1) {
		return "none"
	}
	return strconv.FormatFloat(least, 'g', 4, 64)
}

// priority is what distinguishes a thread's scheduling from the usual ("batch, nice 10"),
// or "normal"; empty if unknown.
func priority(scheduling map[string]string) string {
	policy, nice := scheduling["policy"], scheduling["nice"]
	switch {
	case policy == "" || nice == "":
		return ""
	case policy == "other" && nice == "0":
		return "normal"
	case policy == "other":
		return "nice " + nice
	case nice == "0":
		return policy
	}
	return policy + ", nice " + nice
}

// BootID changes with every boot of this machine; it is empty if unknown.
func BootID() string { return readText("/proc/sys/kernel/random/boot_id") }

func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// cpuModel is the model's name on x86. On arm64 the kernel gives numbers only:
// the implementers and parts, each once, in order ("arm 0x41:0xd85 0x41:0xd87").
func cpuModel(cpuinfo string) string {
	var implementer string
	var parts []string
	seen := map[string]bool{}
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name":
			return strings.Join(strings.Fields(value), " ")
		case "CPU implementer":
			implementer = value
		case "CPU part":
			if part := implementer + ":" + value; !seen[part] {
				seen[part] = true
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "arm " + strings.Join(parts, " ")
}

// memTotal is in KiB.
func memTotal(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib
		}
	}
	return 0
}
