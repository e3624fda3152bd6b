// Package machine identifies this machine, as a fingerprint to compare measurements by,
// when it was booted, and what this process passes on to its children. It contains
// nothing that changes by itself from one moment to the next, and judges no difference:
// that is for gates.
package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"

	"github.com/mxflow/mxflow/engine/gpu"
)

// Environment is the fingerprint of this machine, so that numbers from different machines
// are not compared unnoticed: os, arch, arch_level (what the binary was compiled for),
// cpu (model), cores (usable ones), cpu_limit (a control group's quota, in CPUs), mem_gib,
// kernel, priority (scheduling policy and nice value), host (a hash: the name itself stays
// here), gpu (names with UUIDs) and driver (the GPUs'). What cannot be found out is
// absent. It holds no secrets and nothing that changes from one moment to the next.
func Environment() map[string]string {
	env := map[string]string{
		"os":    goruntime.GOOS,
		"arch":  goruntime.GOARCH,
		"cores": strconv.Itoa(goruntime.NumCPU()),
	}
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
	for key, value := range machine() {
		if value != "" {
			env[key] = value
		}
	}
	maps.Copy(env, gpu.Fingerprint())
	return env
}

// gib prints bytes as GiB with one decimal: the kernel reserves a little more or less for
// itself at each boot, which does not make it another machine.
func gib(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(bytes)/(1<<30), 'f', 1, 64)
}
