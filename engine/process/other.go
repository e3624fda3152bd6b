//go:build !linux

package process

import (
	"os/exec"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// family is the process group of a launch; without /proc processes that leave the group
// cannot be found.
type family struct {
	pgid   int
	termed bool
}

func newFamily(c *child, _ engine.Launch, _ time.Duration) *family { return &family{pgid: c.pid} }

func (f *family) memory(bool) int64 { return 0 }

// Left implements engine.Leaver: what outlives the engine is not known.
func (p *process) Left() []string { return nil }

func (f *family) terminate() bool {
	if f.termed {
		return syscall.Kill(-f.pgid, 0) == nil
	}
	f.termed = true
	return syscall.Kill(-f.pgid, syscall.SIGTERM) == nil
}

func (f *family) kill() bool { return syscall.Kill(-f.pgid, syscall.SIGKILL) == nil }

func (f *family) describe() string { return describePIDs([]int{f.pgid}) }

// Descendants is not supported here.
func Descendants(int) []int { return nil }

// Others cannot tell here who listens at a port.
func Others(int, func() []int) (who string, seen bool) { return "", false }

// Others implements engine.Listener.
func (p *process) Others() (who string, seen bool) { return "", false }

// child is the direct child process. Outside Linux it is reaped as soon as it has ended.
type child struct {
	pid, guard int
	exited     chan struct{}
	exit       engine.Exit // valid once exited is closed
}

// spawn starts cmd in its own process group. There is no parent death signal here: an
// engine outlives a killed mxflow.
func spawn(cmd *exec.Cmd, _ []int) (*child, error) {
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

func (c *child) unguarded() bool { return false }

// Sweep finds nothing on this system: it has no /proc.
func Sweep(owner string) ([]Leftover, error) { return nil, nil }
