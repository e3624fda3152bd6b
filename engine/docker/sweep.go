package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Leftover is a container left behind by a dead mxflow and removed by Sweep.
type Leftover struct {
	// Name is the container's, Image what it ran, Launch the engine.Launch.ID.
	Name, Image, Launch string
	Started             time.Time
	// Daemon is Daemon.Name.
	Daemon string
}

// Sweep removes the containers that an earlier mxflow started on a daemon on behalf of
// owner (see engine.Launch.Owner) and did not live to remove, and returns them. It only
// touches containers with all of mxflow's labels, this owner's, this machine's and a
// start before the given time. The caller must hold the lock on the state directory.
func Sweep(ctx context.Context, d *Daemon, owner string, before time.Time) ([]Leftover, error) {
	if owner == "" {
		return nil, errors.New("sweep: no owner: everything would match")
	}
	found, err := d.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelOwner+"="+owner)),
	})
	if err != nil {
		return nil, fmt.Errorf("docker daemon %s: cannot list what earlier runs left: %w", d.Name, err)
	}
	var swept []Leftover
	var wrong []error
	for _, c := range found {
		started, ok := ours(c.Labels, owner, before)
		if !ok {
			continue
		}
		s := Leftover{
			Name: strings.TrimPrefix(strings.Join(c.Names, " "), "/"), Image: c.Image,
			Launch: c.Labels[LabelLaunch], Started: started, Daemon: d.Name,
		}
		removing, cancel := context.WithTimeout(ctx, callLimit)
		err := d.removeContainer(removing, c.ID)
		cancel()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("docker daemon %s: cannot remove container %s, left by an earlier run: %w", d.Name, s.Name, err))
			continue
		}
		swept = append(swept, s)
	}
	wrong = append(wrong, sweepNetworks(ctx, d, owner, before))
	return swept, errors.Join(wrong...)
}

// ours reports whether labels show that this owner's mxflow on this machine started a
// container before a time, and when.
func ours(labels map[string]string, owner string, before time.Time) (time.Time, bool) {
	started, err := time.Parse(time.RFC3339Nano, labels[LabelStarted])
	return started, err == nil && labels[LabelOwner] == owner && labels[LabelHost] == thisHost() &&
		labels[LabelLaunch] != "" && started.Before(before)
}

// ExecLeftover is what a dead mxflow left running inside a container that keeps running,
// and SweepExec ended.
type ExecLeftover struct {
	// Container is the container's name, Daemon Daemon.Name.
	Container, Daemon string
	// Processes is how many there were.
	Processes int
}

// SweepExec ends the processes that an earlier mxflow of this machine started in a
// container on behalf of owner and did not live to stop, and nothing else in it. A
// container that is gone or stopped has none. As for Sweep, the caller must hold the lock
// on the state directory.
func SweepExec(ctx context.Context, d *Daemon, id, owner string) (ExecLeftover, error) {
	swept := ExecLeftover{Container: id, Daemon: d.Name}
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
			return swept, fmt.Errorf("cannot list what an earlier run left in container %s: %w", swept.Container, err)
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
			return swept, fmt.Errorf("processes of an earlier run in container %s did not end within %s of SIGKILL: %s",
				swept.Container, killWait, strings.Join(left, ", "))
		}
		select {
		case <-ctx.Done():
			return swept, ctx.Err()
		case <-time.After(wait):
		}
	}
}
