//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// ownSession starts cmd without a terminal, and ends all its processes at once.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
