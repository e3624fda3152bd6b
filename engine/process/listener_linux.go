package process

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Others names a program that listens at a port of this machine where requests to
// 127.0.0.1 may end, and is none of own; it is empty if there is none. own are asked for
// once somebody listens. seen is false if nobody can tell: the sockets of one of own are
// hidden, or one starts programs that are not its descendants.
func Others(port int, own func() []int) (who string, seen bool) {
	for again := false; ; again = true { // a socket that is being closed belongs to nobody
		listening, err := listeners(port)
		if err != nil || len(listening) == 0 {
			return "", err == nil
		}
		for _, pid := range own() {
			if slices.Contains(outsiders, procID{pid: pid}.name()) {
				return "", false
			}
			held, err := socketsOf(pid)
			if errors.Is(err, os.ErrPermission) {
				return "", false
			}
			listening = slices.DeleteFunc(listening, func(socket string) bool { return slices.Contains(held, socket) })
		}
		switch {
		case len(listening) == 0:
			return "", true
		case again:
			return holder(listening), true
		}
	}
}

// outsiders are programs whose servers run outside of their own process tree.
var outsiders = []string{"docker", "podman", "nerdctl", "srun", "systemctl", "systemd-run", "machinectl", "lxc", "incus"}

// listeners are the sockets ("socket:[4711]") that listen at a port of the network
// namespace of this process, at 127.0.0.1 or at all addresses.
func listeners(port int) (sockets []string, err error) {
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // no IPv6
			return nil, err
		}
		for _, l := range ParseListening(string(table)) {
			ip := l.At.Addr()
			if int(l.At.Port()) == port && (ip.IsUnspecified() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
				sockets = append(sockets, "socket:["+l.Inode+"]")
			}
		}
	}
	return sockets, nil
}

// socketsOf are the sockets that a process holds.
func socketsOf(pid int) (sockets []string, err error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	fds, err := os.ReadDir(dir)
	for _, fd := range fds {
		if to, err := os.Readlink(dir + fd.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			sockets = append(sockets, to)
		}
	}
	return sockets, err
}

// holder names who holds one of the sockets.
func holder(sockets []string) string {
	table, _ := processTable()
	for _, p := range table {
		held, _ := socketsOf(p.pid)
		if slices.ContainsFunc(held, func(s string) bool { return slices.Contains(sockets, s) }) {
			return fmt.Sprintf("process %d (%s)", p.pid, p.name())
		}
	}
	return "a program of another user"
}

// Others implements engine.Listener.
func (p *process) Others() (who string, seen bool) {
	return Others(p.port, func() []int {
		p.family.memory(true) // finds its newest children
		return p.family.pids()
	})
}
