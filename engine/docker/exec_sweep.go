package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
)

// SweptExec is what a dead mxflow had left running inside a container that goes
// on running, and SweepExec ended.
type SweptExec struct {
	// Container is the container's name, Daemon Daemon.Name.
	Container, Daemon string
	// Processes is how many there were.
	Processes int
}

// SweepExec ends the processes that an earlier mxflow of this machine started in
// a container on behalf of owner and did not live to stop, and nothing else in
// it. A container that is gone or does not run has none. As Sweep, it must be
// called by the one that holds the lock on the state directory.
func SweepExec(ctx context.Context, d *Daemon, id, owner string) (SweptExec, error) {
	swept := SweptExec{Container: id, Daemon: d.Name}
	if owner == "" {
		return swept, errors.New("sweep: no owner: everything would match")
	}
	info, err := d.ContainerInspect(ctx, id)
	switch {
	case cerrdefs.IsNotFound(err):
		return swept, nil
	case err != nil:
		return swept, fmt.Errorf("docker daemon %s: container %s: %w", d.Name, id, err)
	case info.State == nil || !info.State.Running:
		return swept, nil
	}
	swept.Container = strings.TrimPrefix(info.Name, "/")
	s, err := enter(ctx, d, id, execMark{host: thisHost(), owner: owner})
	if err != nil {
		return swept, err
	}
	seen := map[string]bool{}
	end := time.Now().Add(killWait)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		out, err := s.run(ctx, scriptFamily, envExec+"="+s.mark.String(), "0", "KILL", "prefix")
		if err != nil {
			return swept, fmt.Errorf("what an earlier run left in container %s cannot be looked at: %w", swept.Container, err)
		}
		left := strings.Fields(out)
		if len(left) == 0 {
			return swept, nil
		}
		for _, pid := range left {
			seen[pid] = true
		}
		swept.Processes = len(seen)
		if time.Now().After(end) {
			return swept, fmt.Errorf("left in container %s by an earlier run and not to be ended within %s of SIGKILL: processes %s",
				swept.Container, killWait, strings.Join(left, ", "))
		}
		select {
		case <-ctx.Done():
			return swept, ctx.Err()
		case <-time.After(wait):
		}
	}
}
