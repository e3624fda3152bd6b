package run

import (
	"errors"
	"fmt"
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
// namespace of this process, at 127.0.0.1 or at all addresses, by proc_net_tcp(5): addresses
// are hexadecimal words in the machine's byte order (little endian, on amd64 and arm64).
func listeners(port int) (sockets []string, err error) {
	const local, state, inode, listen = 1, 3, 9, "0A"
	here := []string{"00000000", "0100007F", strings.Repeat("0", 32), "0000000000000000FFFF00000100007F"}
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		table, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // no IPv6
			return nil, err
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) <= inode || f[state] != listen {
				continue
			}
			address, at, _ := strings.Cut(f[local], ":")
			if at == fmt.Sprintf("%04X", port) && slices.Contains(here, address) {
				sockets = append(sockets, "socket:["+f[inode]+"]")
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
