package run

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/mxflow/mxflow/engine"
)

// ports are reserved for launches that have not been stopped: an engine that is still
// loading does not listen yet, so its port looks free.
var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// reserve reserves a port that no program listens on.
func reserve(port int) (release func(), err error) {
	ports.Lock()
	defer ports.Unlock()
	if ports.taken[port] {
		return nil, errors.New("another engine of this mxflow uses it")
	}
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			if call, ok := errors.AsType[*os.SyscallError](err); ok {
				err = call.Err // "address already in use"
			}
			return nil, err
		}
		l.Close()
	}
	ports.taken[port] = true
	return func() {
		ports.Lock()
		defer ports.Unlock()
		delete(ports.taken, port)
	}, nil
}

// FreePort reserves a port of this machine without a listener; release returns it. Any
// program can still take it before the engine does; then the engine ends and reports it in
// its log. To make that rare the port is outside of the kernel's range for outgoing
// connections: a large model loads for minutes, and meanwhile our own polling of that very
// port opens connections by the hundred.
func FreePort() (port int, release func(), err error) {
	low, high := 18000, 32768 // Linux' range begins there; macOS' at 49152
	var first, last int
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if n, _ := fmt.Sscan(string(text), &first, &last); n == 2 {
		switch {
		case first >= low+1000:
			high = min(first, high)
		case last < 64000:
			low, high = last+1, 65536
		}
	}
	for range 200 {
		port = low + rand.IntN(high-low)
		if release, err = reserve(port); err == nil {
			return port, release, nil
		}
	}
	return 0, nil, err
}

// portFor reserves the port for a process. A fixed one must be free: another listener
// there would be measured instead.
func portFor(spec engine.Spec) (port int, release func(), failure *engine.Failure) {
	var err error
	if spec.Port == 0 {
		if port, release, err = FreePort(); err != nil {
			failure = engine.StartFailure(err, "no free port on 127.0.0.1: %v", err)
		}
		return port, release, failure
	}
	if release, err = reserve(spec.Port); err != nil {
		failure = engine.StartFailure(err,
			"cannot use its port %d (%v): stop the program that listens there, or choose another port", spec.Port, err)
	}
	return spec.Port, release, failure
}
