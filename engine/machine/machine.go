// Package machine describes and watches this machine: its GPUs by their vendors' tools, their
// users, and locks against other mxflows; its fingerprint, to compare measurements by;
// the metadata of a launch; and its power, clocks and memory while an engine is measured.
// It samples and collects, and judges nothing: gates do. A machine without a GPU is a
// normal machine.
package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"os"
	"os/exec"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Environment is the fingerprint of this machine, so numbers from different machines
// are not compared unnoticed: os, arch, arch_level (what the binary was compiled for),
// cpu (model), cores (usable ones), cpu_limit (a control group's quota, in CPUs), mem_gib,
// kernel, priority (scheduling policy and nice value), host (a hash: the name itself stays
// here), gpu (names with UUIDs) and driver (the GPUs'). What cannot be found out is
// absent. It holds no secrets and nothing that changes from one moment to the next.
func Environment() map[string]string {
	env := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "cores": strconv.Itoa(runtime.NumCPU())}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" || s.Key == "GOARM64" {
				env["arch_level"] = s.Value
			}
		}
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		sum := sha256.Sum256([]byte("mxflow host\x00" + name))
		env["host"] = hex.EncodeToString(sum[:6])
	}
	env["cpu"], env["kernel"] = cpuModel(readText("/proc/cpuinfo")), readText("/proc/sys/kernel/osrelease")
	env["cpu_limit"] = cpuLimit(readText("/proc/self/cgroup"), "/sys/fs/cgroup")
	if total, ok := kib(readText("/proc/meminfo"), "MemTotal:"); ok {
		env["mem_gib"] = gib(1024 * uint64(total))
	}
	if s, err := statOf("/", os.Getpid()); err == nil {
		env["priority"] = priority(s)
	}
	if runtime.GOOS == "darwin" {
		env["cpu"], env["kernel"] = sysctl("machdep.cpu.brand_string"), sysctl("kern.osrelease")
		bytes, _ := strconv.ParseUint(sysctl("hw.memsize"), 10, 64)
		env["mem_gib"] = gib(bytes)
	}
	maps.Copy(env, gpuFingerprint())
	maps.DeleteFunc(env, func(_, value string) bool { return value == "" })
	return env
}

// BootID changes with every boot of this machine; it is empty if unknown.
func BootID() string {
	if runtime.GOOS == "darwin" {
		return sysctl("kern.bootsessionuuid")
	}
	return readText("/proc/sys/kernel/random/boot_id")
}

func sysctl(name string) string {
	out, _ := exec.Command("sysctl", "-n", name).Output()
	return strings.TrimSpace(string(out))
}

// gib prints bytes as GiB with one decimal: the kernel reserves a little more or less for
// itself at each boot, which does not make it another machine.
func gib(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/(1<<30), 'f', 1, 64)
}

// cpuModel is the model's name on x86. On arm64 the kernel gives numbers only:
// the implementers and parts, each once, in order ("arm 0x41:0xd85 0x41:0xd87").
func cpuModel(cpuinfo string) string {
	var implementer string
	var parts []string
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name":
			return strings.Join(strings.Fields(value), " ")
		case "CPU implementer":
			implementer = value
		case "CPU part":
			if part := implementer + ":" + value; !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "arm " + strings.Join(parts, " ")
}

// cpuLimit is the smallest CPU quota of a process's control group of version 2 and those
// above it, in CPUs ("1.5"), or "none"; empty if it cannot be read, or is one of version 1.
// Format: docs.kernel.org/admin-guide/cgroup-v2.html, "cpu.max".
func cpuLimit(cgroup, root string) string {
	group := ""
	for line := range strings.Lines(cgroup) {
		cells := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(cells) != 3:
		case cells[1] == "":
			group = path.Clean("/" + cells[2])
		case slices.Contains(strings.Split(cells[1], ","), "cpu"):
			return ""
		}
	}
	if group == "" {
		return ""
	}
	least := math.Inf(1)
	for at := group; ; at = path.Dir(at) {
		if text := readText(path.Join(root, at, "cpu.max")); text != "" && !strings.HasPrefix(text, "max ") {
			most, period, _ := strings.Cut(text, " ")
			quota, err := strconv.ParseUint(most, 10, 64)
			each, periodErr := strconv.ParseUint(period, 10, 64)
			if err != nil || periodErr != nil || each == 0 {
				return ""
			}
			least = min(least, float64(quota)/float64(each))
		}
		if at == "/" {
			break
		}
	}
	if math.IsInf(least, 1) {
		return "none"
	}
	return strconv.FormatFloat(least, 'g', 4, 64)
}

// priority is what distinguishes a process's scheduling from the usual ("batch, nice 10"),
// or "normal".
func priority(s ProcessStat) string {
	const other = 0
	names := map[int]string{other: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
	name := names[s.Policy]
	if name == "" {
		name = strconv.Itoa(s.Policy)
	}
	if s.RealTime > 0 {
		name += " " + strconv.Itoa(s.RealTime)
	}
	nice := "nice " + strconv.Itoa(s.Nice)
	switch {
	case s.Policy == other && s.Nice == 0:
		return "normal"
	case s.Policy == other:
		return nice
	case s.Nice == 0:
		return name
	}
	return name + ", " + nice
}
