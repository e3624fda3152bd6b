package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peakMemory is the most that this process has held resident, in MB. On Linux
// it is VmHWM and not getrusage's maximum, which a process inherits from the one
// that started it.
func peakMemory() float64 {
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
				return kib * 1024 / 1e6
			}
		}
	}
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return float64(used.Maxrss) / 1e6 // bytes on macOS
}
