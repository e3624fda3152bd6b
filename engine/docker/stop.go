package docker

import (
	"context"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/mxflow/mxflow/engine"
)

// Stop ends the container and removes it: SIGTERM, after the grace SIGKILL, or
// at once when ctx is done. It may be called again, from several goroutines. The
// error is a *engine.Failure.
func (c *Container) Stop(ctx context.Context, grace time.Duration) error {
	return c.stopper.Stop(ctx, func(hurry <-chan struct{}) error {
		if failure := c.finish(grace, hurry); failure != nil {
			return failure
		}
		return nil
	})
}

// finish returns when the container is gone.
func (c *Container) finish(grace time.Duration, hurry <-chan struct{}) *engine.Failure {
	if c.Exit() == nil {
		c.lookAtMemory(hurry) // the last chance
		timer := time.NewTimer(grace)
		defer timer.Stop()
		// A signal that does not arrive shows in that nothing ends.
		_ = c.signal("SIGTERM")
		select {
		case <-c.exited:
		case <-timer.C:
		case <-hurry:
		}
	}
	if c.Exit() == nil {
		c.killed.Store(true)
		if err := c.signal("SIGKILL"); cerrdefs.IsConflict(err) {
			// A paused container hears nothing.
			_ = c.call(func(ctx context.Context) error { return c.Daemon.ContainerUnpause(ctx, c.ID) })
			_ = c.signal("SIGKILL")
		}
		select {
		case <-c.exited:
		case <-time.After(killWait):
		}
	}
	if err := c.remove(); err != nil {
		return c.Failure("stop", err, "its container %s could not be removed: %v; when the daemon %s answers again, remove it with docker rm -f %s",
			c.Name, err, c.Daemon.Name, c.Name)
	}
	<-c.exited
	c.end()
	c.log.Close()
	if c.out != nil {
		c.out.Close()
	}
	return nil
}

func (c *Container) signal(name string) error {
	return c.call(func(ctx context.Context) error { return c.Daemon.ContainerKill(ctx, c.ID, name) })
}

// call asks the daemon something with a limit of its own.
func (c *Container) call(ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return ask(ctx)
}

func (c *Container) remove() error {
	if c.Keep {
		if c.Exit() == nil {
			return fmt.Errorf("it did not end within %s of SIGKILL", killWait)
		}
		return nil
	}
	return c.call(func(ctx context.Context) error { return c.Daemon.removeContainer(ctx, c.ID) })
}

// removeContainer removes a container, running or not, and returns when it is
// gone. One that is gone already, or that somebody else removes just now, is no
// error.
func (d *Daemon) removeContainer(ctx context.Context, id string) error {
	for {
		err := d.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, cerrdefs.IsNotFound(err):
			return nil
		case !cerrdefs.IsConflict(err):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
