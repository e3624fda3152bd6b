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
	host, err := Connect(ctx)
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, what := range [][]string{{"ps", "--all", "--no-trunc"}, {"network", "ls", "--no-trunc"}} {
		name := "{{.Name}}\t"
		if what[0] == "ps" {
			name = "{{.Names}}\t{{.Image}}"
		}
		lines, err := list(ctx, append(what,
			"--filter=label="+LabelOwner+"="+owner, "--filter=label="+LabelHost+"="+thisHost(),
			"--format={{.ID}}\t{{.Label \""+LabelLaunch+"\"}}\t{{.Label \""+LabelStarted+"\"}}\t"+name)...)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("docker daemon %s: cannot list leftovers of earlier runs: %w", host, err))
		}
		for _, line := range lines {
			f := strings.Split(line+"\t\t\t\t", "\t")
			started, err := time.Parse(time.RFC3339Nano, f[2])
			if err != nil || f[1] == "" || !started.Before(before) {
				continue
			}
			if what[0] == "ps" {
				err = removeContainers(f[0])
			} else if _, err = call(ctx, "network", "rm", f[0]); isMissing(err) {
				err = nil
			}
			switch {
			case err != nil:
				wrong = append(wrong, fmt.Errorf("docker daemon %s: cannot remove %s, left by an earlier run: %w", host, f[3], err))
			case what[0] == "ps":
				swept = append(swept, Leftover{Name: f[3], Image: f[4], Launch: f[1], Started: started, Daemon: host})
			}
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
	if of, err := inspect(ctx, id); isMissing(err) || err == nil && !of.State.Running {
		return id, 0, nil
	}
	in, err := enter(ctx, id, markOf(owner, ""))
	if err != nil {
		return id, 0, err
	}
	seen := map[string]bool{}
	end := time.Now().Add(killWait)
	for {
		left, err := in.family(ctx, "0", "KILL")
		for _, m := range left {
			seen[m.pid] = true
		}
		switch {
		case err != nil:
			return in.Name, len(seen), fmt.Errorf("cannot list leftovers of an earlier run in container %s: %w", in.Name, err)
		case len(left) == 0:
			return in.Name, len(seen), nil
		case time.Now().After(end):
			return in.Name, len(seen), fmt.Errorf("processes of an earlier run in container %s did not end: %s",
				in.Name, describe(left))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
