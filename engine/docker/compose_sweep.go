package docker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// anonymous matches the names that the daemon gives to volumes without one.
var anonymous = regexp.MustCompile(`^[0-9a-f]{64}$`)

// removeProject removes the containers and networks with a label.
func (d *Daemon) removeProject(ctx context.Context, with filters.Args) error {
	made, err := d.ContainerList(ctx, container.ListOptions{All: true, Filters: with})
	wrong := []error{err}
	for _, c := range made {
		wrong = append(wrong, d.removeContainer(ctx, c.ID))
	}
	nets, err := d.NetworkList(ctx, network.ListOptions{Filters: with})
	wrong = append(wrong, err)
	for _, n := range nets {
		wrong = append(wrong, d.NetworkRemove(ctx, n.ID))
	}
	return errors.Join(wrong...)
}

// sweepNetworks removes the networks that compose projects of a dead mxflow left,
// by the same labels as Sweep, which removes their containers before.
func sweepNetworks(ctx context.Context, d *Daemon, owner string, before time.Time) error {
	nets, err := d.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", LabelOwner+"="+owner))})
	wrong := []error{err}
	for _, n := range nets {
		if _, ok := ours(n.Labels, owner, before); !ok {
			continue
		}
		if err := d.NetworkRemove(ctx, n.ID); err != nil {
			wrong = append(wrong, fmt.Errorf("docker daemon %s: network %s, left by an earlier run, cannot be removed: %w", d.Name, n.Name, err))
		}
	}
	return errors.Join(wrong...)
}
