package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Leftover is a container left behind by a dead mxflow and removed by Sweep.
type Leftover struct {
	// Name is the container's, Image what it ran, Launch the engine.Launch.ID.
	Name, Image, Launch string
	Started             time.Time
	Daemon              string
}

// Sweep removes the containers, and networks of compose projects, that an earlier mxflow
// started on behalf of owner (see engine.Launch.Owner) and did not live to remove, and
// returns the containers. It only touches what has all of mxflow's labels, this owner's,
// this machine's and a start before the given time. The caller must hold the lock on the
// state directory.
func Sweep(ctx context.Context, owner string, before time.Time) (swept []Leftover, err error) {
	if owner == "" {
		return nil, errors.New("sweep: no owner: everything would match")
	}
	d, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	ours := []string{LabelOwner + "=" + owner, LabelHost + "=" + thisHost()}
	// leftover is what the labels say, nil for what is not to be touched.
	leftover := func(name string, labels map[string]string) *Leftover {
		started, err := time.Parse(time.RFC3339Nano, labels[LabelStarted])
		if err != nil || labels[LabelLaunch] == "" || !started.Before(before) {
			return nil
		}
		return &Leftover{Name: name, Launch: labels[LabelLaunch], Started: started, Daemon: d.host}
	}
	containers, err := d.containers(ctx, ours...)
	networks, failed := d.networks(ctx, ours...)
	var wrong []error
	if err = errors.Join(err, failed); err != nil {
		wrong = append(wrong, fmt.Errorf("docker daemon %s: cannot list leftovers of earlier runs: %w", d.host, err))
	}
	stuck := func(name string, err error) {
		wrong = append(wrong,
			fmt.Errorf("docker daemon %s: cannot remove %s, left by an earlier run: %w", d.host, name, err))
	}
	for _, c := range containers {
		name := strings.TrimPrefix(strings.Join(c.Names, " "), "/")
		if left := leftover(name, c.Labels); left == nil {
			continue
		} else if err := d.remove(c.ID); err != nil {
			stuck(name, err)
		} else {
			left.Image = c.Image
			swept = append(swept, *left)
		}
	}
	for _, n := range networks {
		if leftover(n.Name, n.Labels) == nil {
			continue
		}
		if err := d.removeNetwork(ctx, n.ID); err != nil {
			stuck(n.Name, err)
		}
	}
	return swept, errors.Join(wrong...)
}

// SweepExec ends the processes that an earlier mxflow of this machine started in a
// container on behalf of owner and did not live to stop, and nothing else in it. It
// returns the container's name and how many processes there were: none in one that is gone
// or stopped. As for Sweep, the caller must hold the lock on the state directory.
func SweepExec(ctx context.Context, id, owner string) (name string, processes int, err error) {
	if owner == "" {
		return id, 0, errors.New("sweep: no owner: everything would match")
	}
	d, err := dial()
	if err != nil {
		return id, 0, err
	}
	if of, err := d.inspect(ctx, id); isMissing(err) || err == nil && !of.State.Running {
		return id, 0, nil
	}
	in, err := enter(ctx, id, markOf(owner, ""))
	if err != nil {
		return id, 0, err
	}
	e := &execInstance{in: in}
	if processes, err = e.killAll(); err != nil {
		err = fmt.Errorf("leftovers of an earlier run: %w", err)
	}
	return in.Name, processes, err
}
