//go:build !linux

package run

import (
	"fmt"
	"net/netip"
	"os/exec"
	"syscall"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// PortUser cannot tell here who listens at a port.
func PortUser(int, func(search bool) []int) (who string, seen bool) { return "", false }

// Private does nothing on this system, which has no such call.
func Private() error { return nil }

// listening cannot tell here where processes listen.
func listening([]int, bool) []netip.AddrPort { return nil }

// Sweep finds nothing on this system: it has no /proc.
func Sweep(owner string) ([]Leftover, error) { return nil, nil }

// child is the process group of a launch, without /proc and subreapers. A process that
// leaves it, or that a killed mxflow started, runs on.
type child struct {
	engine.Lifetime
	pid int
}

// spawn starts cmd in its own process group.
func spawn(cmd *exec.Cmd, _ engine.Launch, _ time.Duration) (*child, error) {
	c := &child{}
	c.Begin()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait()
		c.End(exitOf(cmd.ProcessState.Sys().(syscall.WaitStatus)))
	}()
	return c, nil
}

func (c *child) end(grace time.Duration, hurry <-chan struct{}) error {
	over, sig := time.After(grace), syscall.SIGTERM
	for began := time.Now(); syscall.Kill(-c.pid, sig) == nil; time.Sleep(10 * time.Millisecond) {
		select {
		case <-over:
			sig = syscall.SIGKILL
		case <-hurry:
			sig = syscall.SIGKILL
		default:
			if sig != syscall.SIGKILL {
				sig = 0 // each is asked once
			}
		}
		if time.Since(began) > grace+30*time.Second {
			return fmt.Errorf("process group %d did not end after SIGKILL", c.pid)
		}
	}
	<-c.Exited()
	return nil
}

func (c *child) leftovers() []string { return nil }

func (c *child) pids(bool) []int { return nil }
