package process

import (
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
)

// child is the direct child process. When it has ended it stays a zombie until
// reap: so long neither its pid nor its process group id can be given to a
// stranger, and signals to the group are safe.
type child struct {
	pid     int
	exited  chan struct{}
	exit    engine.Exit // valid once exited is closed
	release chan struct{}
	reaped  chan struct{}
}

// spawn starts cmd in a process group of its own that dies with mxflow.
//
// The kernel sends the parent death signal when the THREAD that forked ends,
// not the process, and Go ends threads as it likes. So the child is started
// from a goroutine that owns its thread and keeps it until the child is reaped.
// The signal reaches only the direct child, and an engine that changes user
// loses it; Sweep is there for the rest.
func spawn(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c := &child{
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		c.exit = awaitExit(c.pid)
		close(c.exited)
		<-c.release
		_ = cmd.Wait() // says how it ended, which is known
		close(c.reaped)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// reap ends the zombie. It may be called once, when nothing else of the launch
// runs.
func (c *child) reap() {
	close(c.release)
	<-c.reaped
}

// sigChild is siginfo_t as the kernel fills it for SIGCHLD on 64-bit machines;
// package unix leaves this part of it opaque.
type sigChild struct {
	_      [3]int32 // signo, errno, code
	_      int32
	_      int32 // pid
	_      uint32
	status int32
	_      [100]byte
}

// The kernel writes a whole siginfo_t: a smaller struct must not compile.
const _ = unsafe.Sizeof(sigChild{}) - unsafe.Sizeof(unix.Siginfo{})

// awaitExit waits until the child has ended, and leaves it a zombie.
func awaitExit(pid int) engine.Exit {
	var info sigChild
	si := (*unix.Siginfo)(unsafe.Pointer(&info))
	for {
		err := unix.Waitid(unix.P_PID, pid, si, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			// ECHILD: someone else in this program reaped it. How it ended is lost.
			return engine.Exit{Code: -1, Signal: "unknown"}
		}
	}
	const cldExited = 1
	if si.Code == cldExited {
		return engine.Exit{Code: int(info.status)}
	}
	return engine.Exit{Code: -1, Signal: signalName(syscall.Signal(info.status))}
}
