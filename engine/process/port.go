package process

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/engine"
)

// ports are those reserved for launches that have not been stopped: an engine that is
// still loading does not listen yet, so its port looks free.
var ports = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// freePort reserves a loopback port without a listener. Any program can still take it
// before the engine does; then the engine ends and reports it in its log. To make that
// rare the port is below the kernel's range for outgoing connections: a large model loads
// for minutes, and meanwhile our own polling of that very port opens connections by the
// hundred.
func freePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	low, high := quietPorts()
	err := errors.New("all are in use")
	for range 200 {
		port := low + rand.IntN(high-low)
		if ports.taken[port] {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port)); err != nil {
			continue
		}
		l.Close()
		ports.taken[port] = true
		return port, nil
	}
	return 0, err
}

// FreePort reserves a port of this machine without a listener, for a launcher whose
// engine shares the machine's network. release returns it.
func FreePort() (port int, release func(), err error) {
	port, err = freePort()
	return port, func() { releasePort(port) }, err
}

// portFor reserves the port for a process. A fixed one must be free: another listener
// there would be measured instead.
func portFor(spec engine.Spec) (int, *engine.Failure) {
	if spec.Port == 0 {
		port, err := freePort()
		if err != nil {
			return 0, engine.StartFailure(err, "no free port on 127.0.0.1: %v", err)
		}
		return port, nil
	}
	ports.Lock()
	defer ports.Unlock()
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(spec.Port)))
		if err != nil {
			return 0, engine.StartFailure(err, "cannot use its port %d (%v): stop what listens there, or choose another port", spec.Port, bareCause(err))
		}
		l.Close()
	}
	if ports.taken[spec.Port] {
		return 0, engine.StartFailure(nil, "port %d is in use by another engine of this mxflow", spec.Port)
	}
	ports.taken[spec.Port] = true
	return spec.Port, nil
}

// bareCause is the innermost network error: "address already in use".
func bareCause(err error) error {
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		return call.Err
	}
	return err
}

func releasePort(port int) {
	ports.Lock()
	defer ports.Unlock()
	delete(ports.taken, port)
}

// quietPorts is a range of ports, high excluded, outside the kernel's ephemeral range if
// known.
func quietPorts() (low, high int) {
	const lowest, usual = 18000, 32768 // Linux' default; macOS begins at 49152
	var first, last int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return lowest, usual
	}
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return lowest, usual
	}
	switch {
	case first >= lowest+1000:
		return lowest, min(first, usual)
	case last < 64000:
		return last + 1, 65536
	}
	return lowest, usual // an ephemeral range over everything leaves no better choice
}

// Listening is a TCP socket that listens.
type Listening struct {
	At netip.AddrPort
	// Inode is that of the socket, as a process's open files name it.
	Inode string
}

// ParseListening parses /proc/net/tcp and tcp6, see proc_net_tcp(5): addresses are
// hexadecimal words in the machine's byte order (assumed little endian, which amd64 and
// arm64 are).
func ParseListening(text string) (all []Listening) {
	const local, state, inode, listen = 1, 3, 9, "0A"
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) <= inode || f[state] != listen {
			continue
		}
		address, portText, _ := strings.Cut(f[local], ":")
		port, err := strconv.ParseUint(portText, 16, 16)
		raw, err2 := hex.DecodeString(address)
		if err != nil || err2 != nil || len(raw)%4 != 0 {
			continue
		}
		for i := 0; i < len(raw); i += 4 {
			slices.Reverse(raw[i : i+4])
		}
		if ip, ok := netip.AddrFromSlice(raw); ok {
			all = append(all, Listening{netip.AddrPortFrom(ip.Unmap(), uint16(port)), f[inode]})
		}
	}
	return all
}
