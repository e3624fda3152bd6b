package docker

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine/process"
)

// PIDs implements engine.Resident: the container's processes as this machine
// numbers them. There are none where the daemon is on another machine, or where
// its processes live in another namespace than ours.
func (c *Container) PIDs() []int {
	if !c.Daemon.Local() {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.life, 2*time.Second)
	defer cancel()
	info, err := c.Daemon.ContainerInspect(ctx, c.ID)
	if err != nil || info.State == nil || info.State.Pid == 0 {
		return nil
	}
	return process.Descendants(info.State.Pid)
}
