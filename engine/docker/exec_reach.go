package docker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// reach is how requests get to an engine in a container that others made.
type reach struct {
	// port is the one to listen on inside the container, 0 for none.
	port int
	// address is where requests go: host:port.
	address     string
	hostNetwork bool
	tunnel      *tunnel
	give        func()
}

func (r reach) release() {
	if r.tunnel != nil {
		r.tunnel.close()
	}
	if r.give != nil {
		r.give()
	}
}

// execPorts are the ports of containers that launches hold, as "id:port": an
// engine that still loads does not listen yet.
var execPorts = struct {
	sync.Mutex
	taken map[string]bool
}{taken: map[string]bool{}}

func holdPort(id string, port int) (release func(), ok bool) {
	execPorts.Lock()
	defer execPorts.Unlock()
	key := id + ":" + strconv.Itoa(port)
	if execPorts.taken[key] {
		return nil, false
	}
	execPorts.taken[key] = true
	return func() {
		execPorts.Lock()
		defer execPorts.Unlock()
		delete(execPorts.taken, key)
	}, true
}

// reach chooses the port and the way to it: a port that the plan names, else one
// that the container publishes, else any free one where the container's network
// can be reached from here.
func (s *shell) reach(ctx context.Context, port int, kind kinds.Kind, l engine.Launch) (reach, error) {
	none := reach{}
	if len(kind.Ready) == 0 && port == 0 {
		return none, nil // no server
	}
	home, err := s.network(ctx)
	if err != nil {
		return none, err
	}
	busy, err := s.listening(ctx)
	if err != nil {
		return none, fmt.Errorf("what listens in container %q cannot be found out: %w", s.name, err)
	}
	named := port != 0
	var candidates []int
	switch published := publishedPorts(home); {
	case named:
		candidates = []int{port}
	case slices.Contains(published, kind.Port):
		candidates = []int{kind.Port}
	case len(published) > 0:
		candidates = published
	default:
		for range 50 {
			candidates = append(candidates, 18000+rand.IntN(14000))
		}
	}
	taken := ""
	for _, p := range candidates {
		if at := busy[p]; len(at) > 0 {
			taken = fmt.Sprintf("something listens on port %d in container %q already (docker exec %s ps shows what): end it, or name another port in the exec block",
				p, s.name, s.name)
			continue
		}
		r := reach{port: p, hostNetwork: networkMode(home) == "host"}
		if r.address, err = s.way(ctx, home, p); err != nil {
			return none, err
		}
		var ok bool
		if r.give, ok = holdPort(home.ID, p); !ok {
			taken = fmt.Sprintf("port %d of container %q is used by another launch: launch one engine at a time there, or name another port in the exec block", p, s.name)
			continue
		}
		if s.d.end.scheme() != "ssh" {
			return r, nil
		}
		if r.tunnel, err = openTunnel(s.d, r.address, l); err != nil {
			r.give()
			return none, err
		}
		r.address = r.tunnel.local
		return r, nil
	}
	return none, errors.New(taken)
}
