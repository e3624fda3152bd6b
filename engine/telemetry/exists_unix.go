//go:build unix

package telemetry

import (
	"errors"
	"syscall"
)

// exists reports whether a process with this number exists here, even if /proc hides
// those of other users.
func exists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
