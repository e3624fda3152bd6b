package docker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/go-connections/nat"
)

// network is the container whose network this one uses, mostly itself.
func (s *shell) network(ctx context.Context) (container.InspectResponse, error) {
	home := s.info
	for range 5 {
		other, shared := strings.CutPrefix(networkMode(home), "container:")
		if !shared {
			break
		}
		var err error
		if home, err = s.d.running(ctx, other); err != nil {
			return home, fmt.Errorf("container %q uses the network of another: %w", s.name, err)
		}
	}
	return home, nil
}

func networkMode(info container.InspectResponse) string {
	if info.ContainerJSONBase == nil || info.HostConfig == nil {
		return ""
	}
	return string(info.HostConfig.NetworkMode)
}

// way is the address of a port in a container, as seen from here, or from the
// daemon's machine where ssh leads there.
func (s *shell) way(ctx context.Context, home container.InspectResponse, port int) (string, error) {
	at := func(host string, port any) string { return net.JoinHostPort(host, fmt.Sprint(port)) }
	machine, err := s.d.publishAt(ctx)
	if err != nil {
		return "", err
	}
	ip, _ := netip.ParseAddr(machine)
	near := ip.IsLoopback() // the daemon's addresses are good to use
	if b, ok := binding(home, port); ok {
		bound, err := netip.ParseAddr(b.HostIP)
		switch {
		case err != nil || bound.IsUnspecified():
			return at(machine, b.HostPort), nil
		case near || !bound.IsLoopback():
			return at(b.HostIP, b.HostPort), nil
		}
		return "", fmt.Errorf("container %q publishes port %d on the loopback address of %s alone, which cannot be reached from here: publish it on an address that can (docker run -p %d:%d)",
			s.name, port, s.d.Name, port, port)
	}
	switch mode := networkMode(home); {
	case mode == "host":
		return at(machine, port), nil
	case mode == "none":
		return "", fmt.Errorf("container %q has no network (--network none), so that nothing in it can be asked: start it with one", s.name)
	case near:
		if own := networks(home); len(own) > 0 {
			return at(own[0], port), nil
		}
		return "", fmt.Errorf("container %q has no address on any network: publish port %d when it is started (docker run -p 127.0.0.1:%d:%d)", s.name, port, port, port)
	}
	return "", fmt.Errorf("port %d of container %q cannot be reached from here, since the daemon %s is on another machine and the container does not publish it: "+
		"start the container with -p %d:%d, or with --network host", port, s.name, s.d.Name, port, port)
}

// networks are the container's addresses, by the names of its networks.
func networks(home container.InspectResponse) []string {
	var out []string
	if home.NetworkSettings == nil {
		return nil
	}
	for _, name := range sortedKeys(home.NetworkSettings.Networks) {
		if n := home.NetworkSettings.Networks[name]; n != nil && n.IPAddress != "" {
			out = append(out, n.IPAddress)
		}
	}
	return out
}

func binding(home container.InspectResponse, port int) (nat.PortBinding, bool) {
	if home.NetworkSettings == nil {
		return nat.PortBinding{}, false
	}
	for _, b := range home.NetworkSettings.Ports[nat.Port(strconv.Itoa(port)+"/tcp")] {
		if b.HostPort != "" {
			return b, true
		}
	}
	return nat.PortBinding{}, false
}

// publishedPorts are the container's own numbers of them.
func publishedPorts(home container.InspectResponse) []int {
	var out []int
	if home.NetworkSettings != nil {
		for port, bindings := range home.NetworkSettings.Ports {
			if len(bindings) > 0 && port.Proto() == "tcp" {
				out = append(out, port.Int())
			}
		}
	}
	slices.Sort(out)
	return out
}
