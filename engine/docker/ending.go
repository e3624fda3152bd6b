package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
)

// returnLimit is how long a daemon that went away may take to come back, as one
// that is restarted does. Tests shorten it.
var returnLimit = 10 * time.Second

// ending is how a container ended.
type ending struct {
	exit engine.Exit
	// why adds to the exit what it does not say, empty where there is nothing.
	why string
	err error
}

// await waits until the container has ended, across a daemon that goes away for
// a moment.
func (c *Container) await() ending {
	for {
		ended, failed := c.Daemon.ContainerWait(c.life, c.ID, container.WaitConditionNotRunning)
		select {
		case <-ended:
		case err := <-failed:
			if !cerrdefs.IsNotFound(err) && !c.returns() {
				return ending{
					exit: engine.Exit{Code: -1, Signal: "unknown"}, err: errors.Join(ErrUnreachable, err),
					why: fmt.Sprintf("the docker daemon %s went away while it ran; whether it still runs there is unknown", c.Daemon.Name),
				}
			}
		}
		if how, ended := c.inspectEnd(); ended {
			return c.perhapsRemoved(how)
		}
	}
}

// perhapsRemoved looks again at a container that was killed, and not by us: who
// removes a running container kills it first.
func (c *Container) perhapsRemoved(how ending) ending {
	for range 10 {
		if how.exit.Signal != "SIGKILL" || how.why != "" || c.killed.Load() {
			break
		}
		time.Sleep(50 * time.Millisecond)
		if again, ended := c.inspectEnd(); ended {
			how = again
		}
	}
	return how
}

// inspectEnd asks how the container ended; false where it runs, or where the
// daemon gave no answer.
func (c *Container) inspectEnd() (ending, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	info, err := c.Daemon.ContainerInspect(ctx, c.ID)
	switch {
	case cerrdefs.IsNotFound(err):
		return ending{
			exit: engine.Exit{Code: -1, Signal: "SIGKILL"}, err: err,
			why: fmt.Sprintf("somebody else removed its container %s", c.Name),
		}, true
	case err != nil || info.State == nil || info.State.Running || info.State.Restarting:
		return ending{}, false
	}
	how := ending{exit: exitOf(info.State.ExitCode), why: info.State.Error}
	if info.State.OOMKilled {
		how.why = "the kernel killed it for lack of memory (OOMKilled): raise the container's memory limit, or let the engine take less"
	}
	return how, true
}

// returns waits for a daemon that went away.
func (c *Container) returns() bool {
	limit := time.Now().Add(returnLimit)
	for time.Now().Before(limit) {
		if c.life.Err() != nil {
			return false
		}
		ctx, cancel := context.WithDeadline(c.life, limit)
		err := c.Daemon.check(ctx)
		cancel()
		if err == nil {
			return true
		}
		select {
		case <-c.life.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return false
}
