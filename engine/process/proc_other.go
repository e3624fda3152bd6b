//go:build !linux

package process

import (
	"os/exec"
	"syscall"

	"github.com/mxflow/mxflow/engine"
)

// child is the direct child process. Outside Linux it is reaped as soon as it
// has ended.
type child struct {
	pid    int
	exited chan struct{}
	exit   engine.Exit // valid once exited is closed
}

// spawn starts cmd in a process group of its own. There is no parent death
// signal here: an engine outlives an mxflow that is killed.
func spawn(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		_ = cmd.Wait()
		c.exit = engine.Exit{Code: cmd.ProcessState.ExitCode()}
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			c.exit.Signal = signalName(ws.Signal())
		}
	}()
	return c, nil
}

func (c *child) reap() { <-c.exited }
