//go:build unix

package telemetry

import (
	"errors"
	"syscall"
)

// exists reports whether there is a process of this number here, also where
// /proc hides those of others.
func exists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
