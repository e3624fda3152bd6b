package machine

import (
	"os/exec"
	"syscall"
)

// bind makes a child end with this program, even if that is killed. The caller keeps its
// thread until the child has ended: the kernel takes the thread's end for the parent's.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
