package run

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// PortUser names a program that listens at a port of this machine where requests to
// 127.0.0.1 may end, and is none of own; it is empty if there is none. own are asked for
// once somebody listens. seen is false if nobody can tell: the sockets of one of own are
// hidden, or one starts programs that are not its descendants.
func PortUser(port int, own func() []int) (who string, seen bool) {
	for again := false; ; again = true { // a socket that is being closed has no owner
		listening, err := listeners("self")
		listening = slices.DeleteFunc(listening, func(s socket) bool { return !reaches(s.at, port) })
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
			listening = slices.DeleteFunc(listening, func(s socket) bool { return slices.Contains(held, s.name) })
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

// Listening is where processes listen; alone is set if nobody else is in their network
// namespace, as in a container, whose processes may hide which sockets are theirs.
func Listening(pids []int, alone bool) (at []netip.AddrPort) {
	if len(pids) == 0 {
		return nil
	}
	of, own := "self", map[string]bool{}
	if alone {
		of = strconv.Itoa(pids[0])
	} else {
		for _, pid := range pids {
			held, _ := socketsOf(pid)
			for _, name := range held {
				own[name] = true
			}
		}
	}
	listening, _ := listeners(of)
	for _, s := range listening {
		// Docker's own name server is at another address of the loopback network.
		other := s.at.Addr().Is4() && s.at.Addr().IsLoopback() && s.at.Addr() != localhost
		if (alone || own[s.name]) && !other {
			at = append(at, s.at)
		}
	}
	slices.SortFunc(at, netip.AddrPort.Compare)
	return slices.Compact(at)
}

// socket is a TCP socket that listens: where, and its name ("socket:[4711]").
type socket struct {
	at   netip.AddrPort
	name string
}

// listeners are the sockets that listen in the network namespace of a process, by
// proc_net_tcp(5): addresses are hexadecimal words in the machine's byte order (little
// endian, on amd64 and arm64).
func listeners(of string) (sockets []socket, err error) {
	const local, state, inode, listen = 1, 3, 9, "0A"
	for _, file := range []string{"/net/tcp", "/net/tcp6"} {
		table, err := os.ReadFile("/proc/" + of + file)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // no IPv6
			return nil, err
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) <= inode || f[state] != listen {
				continue
			}
			words, port, _ := strings.Cut(f[local], ":")
			bytes, _ := hex.DecodeString(words)
			for word := range slices.Chunk(bytes, 4) {
				slices.Reverse(word)
			}
			address, ok := netip.AddrFromSlice(bytes)
			number, err := strconv.ParseUint(port, 16, 16)
			if ok && err == nil {
				at := netip.AddrPortFrom(address.Unmap(), uint16(number))
				sockets = append(sockets, socket{at, "socket:[" + f[inode] + "]"})
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

func holder(sockets []socket) string {
	table, _ := processTable()
	for _, p := range table {
		held, _ := socketsOf(p.pid)
		if slices.ContainsFunc(sockets, func(s socket) bool { return slices.Contains(held, s.name) }) {
			return fmt.Sprintf("process %d (%s)", p.pid, p.name())
		}
	}
	return "a program of another user"
}
