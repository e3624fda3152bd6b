package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	process "github.com/mxflow/mxflow/engine/run"
)

// anyPort is where an engine listens in its container if its command takes the port and
// the choice does not matter.
const anyPort = 8000

// ports is where an engine listens and how requests reach it.
type ports struct {
	// inside is the port in the container, or on its machine if it shares the network; 0
	// if the engine is not a server.
	inside int
	// publish is the address on which the daemon publishes it, empty if unnecessary.
	publish string
	// reach is where requests go: host:port.
	reach string
	// shared is set if the container uses its machine's network.
	shared bool
	give   func()
}

func (p *ports) release() {
	if p.give != nil {
		p.give()
	}
}

// portsFor decides where the engine listens.
func (d *Daemon) portsFor(ctx context.Context, spec engine.Spec, kind kinds.Kind) (*ports, error) {
	asks := takesPort(spec)
	p := &ports{inside: spec.Docker.Port}
	if p.inside == 0 {
		p.inside = kind.Port
	}
	network := spec.Docker.Network
	if network == "host" {
		p.shared = true
		return p, d.hostPort(ctx, spec, p, asks)
	}
	if p.inside == 0 && asks {
		p.inside = anyPort
	}
	switch {
	case p.inside == 0 && len(kind.Ready) > 0:
		return p, errors.New("its port in the container is unknown: set port in the docker block, or put {port} into its command")
	case p.inside == 0:
		return p, nil
	case network == "none", strings.HasPrefix(network, "container:"):
		return p, fmt.Errorf("the engine cannot be reached with network = %q: remove it, or use \"host\" or a network of the daemon", network)
	}
	var err error
	p.publish, err = d.publishAt(ctx)
	return p, err
}

// takesPort reports whether the engine's command takes the port.
func takesPort(spec engine.Spec) bool {
	words := slices.Concat(spec.Command, spec.Docker.Entrypoint)
	for _, value := range spec.Env {
		words = append(words, value)
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{port}") })
}

// hostPort chooses a port of the machine that a container with the host's
// network listens on.
func (d *Daemon) hostPort(ctx context.Context, spec engine.Spec, p *ports, asks bool) error {
	host, err := d.publishAt(ctx)
	if err != nil {
		return err
	}
	if asks && spec.Docker.Port == 0 {
		if p.inside, p.give, err = process.FreePort(); err != nil {
			return fmt.Errorf("no free port on this machine: %w", err)
		}
	}
	if p.inside == 0 {
		return nil
	}
	p.reach = net.JoinHostPort(host, strconv.Itoa(p.inside))
	if !d.Local() {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(p.inside))
	if err != nil {
		return fmt.Errorf("port %d of this machine, which the engine needs with network = \"host\", is taken: %w; "+
			"stop what listens there, or set another port", p.inside, err)
	}
	return l.Close()
}

// published reads the daemon's port from a running container.
func (p *ports) published(running container.InspectResponse) error {
	if p.publish == "" {
		return nil
	}
	if running.NetworkSettings != nil {
		for _, b := range running.NetworkSettings.Ports[nat.Port(strconv.Itoa(p.inside)+"/tcp")] {
			if b.HostPort != "" && b.HostPort != "0" {
				p.reach = net.JoinHostPort(p.publish, b.HostPort)
				return nil
			}
		}
	}
	if running.State != nil && !running.State.Running {
		p.reach = net.JoinHostPort(p.publish, "1") // it has ended: no request is sent there
		return nil
	}
	return fmt.Errorf("the daemon published no port for %d/tcp", p.inside)
}
