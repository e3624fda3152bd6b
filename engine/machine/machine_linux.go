package machine

import (
	"os"
	"strconv"
	"strings"
)

// machine reads the cpu, mem_gib and kernel entries of Environment.
func machine() map[string]string {
	return map[string]string{
		"cpu":     cpuModel(readText("/proc/cpuinfo")),
		"mem_gib": gib(1024 * memTotal(readText("/proc/meminfo"))),
		"kernel":  readText("/proc/sys/kernel/osrelease"),
	}
}

// BootID changes with every boot of this machine; it is empty where unknown.
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
