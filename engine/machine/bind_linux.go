package machine

import (
	"os/exec"
	"syscall"
)

// bind makes a child end with this program, even if that is killed, and puts it into its
// own group, so Ctrl-C at a terminal is ours to handle. The caller keeps its thread until
// the child has ended: the kernel takes the thread's end for the parent's.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
