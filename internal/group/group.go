// Package group runs commands together with what they start.
package group

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Command is exec.CommandContext in a process group of its own. Ctrl-C at a terminal is for
// mxflow only. When ctx ends, so does the whole group: a shell's children would outlive it,
// and hold its output. A process that left the group may hold it too; it is waited for no
// longer than a second.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
	cmd.WaitDelay = time.Second
	return cmd
}
