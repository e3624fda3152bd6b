package run

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// PortUser names a program that listens at a port of this machine where requests to
// 127.0.0.1 may end, and is none of own; it is empty if there is none. own are asked for
// once somebody listens: those that are known first, which mostly hold the socket, then those
// that a search finds, as it costs far more. seen is false if nobody can tell: the sockets of
// one of own are hidden, or one starts programs that are not its descendants.
func PortUser(port int, own func(search bool) []int) (who string, seen bool) {
	for look := 0; ; look++ { // once more after a search: a socket that is being closed has no owner
		listening, err := listeners("self")
		listening = slices.DeleteFunc(listening, func(s socket) bool { return !reaches(s.at, port) })
		if err != nil || len(listening) == 0 {
			return "", err == nil
		}
		for _, pid := range own(look > 0) {
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
		case look == 2:
			table, _ := processTable()
			for _, p := range table {
				held, _ := socketsOf(p.pid)
				if slices.ContainsFunc(listening, func(s socket) bool { return slices.Contains(held, s.name) }) {
					return fmt.Sprintf("process %d (%s)", p.pid, p.name()), true
				}
			}
			return "a program of another user", true
		}
	}
}

// outsiders are programs whose servers run outside of their own process tree.
var outsiders = []string{
	"docker", "podman", "nerdctl", "srun", "systemctl", "systemd-run",
	"machinectl", "lxc", "incus",
}

// listening is where processes listen; alone is set if nobody else is in their network
// namespace, as in a container, whose processes may hide which sockets are theirs.
func listening(pids []int, alone bool) (at []netip.AddrPort) {
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

// listeners are the sockets that listen in the network namespace of a process. The kernel
// is asked for these alone in our own: its files walk the table of all connections, which
// takes milliseconds on a machine with much memory, whose table is large.
func listeners(of string) (sockets []socket, err error) {
	if of == "self" {
		if sockets, err := sockDiag(unix.IPPROTO_TCP); err == nil {
			return sockets, nil
		}
	}
	return procNetTCP(of)
}

// sockDiag are the listening sockets of a protocol in our network namespace, by sock_diag(7).
// What the kernel cannot tell is an error, and never no socket.
func sockDiag(protocol byte) (sockets []socket, err error) {
	const listen, size, source, inode = 10, 72, 8, 68 // of struct inet_diag_msg
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		request := make([]byte, unix.SizeofNlMsghdr+56) // and struct inet_diag_req_v2
		order := binary.NativeEndian
		order.PutUint32(request, uint32(len(request)))
		order.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
		order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
		request[16], request[17] = family, protocol
		order.PutUint32(request[20:], 1<<listen)
		if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		answer := make([]byte, 1<<16)
		for done := false; !done; {
			n, _, err := unix.Recvfrom(fd, answer, 0)
			if err != nil {
				return nil, err
			}
			messages, err := syscall.ParseNetlinkMessage(answer[:n])
			if err != nil {
				return nil, err
			}
			for _, m := range messages {
				switch {
				case m.Header.Type == unix.NLMSG_DONE:
					// It ends with an error where the kernel's module for it is missing.
					if len(m.Data) >= 4 && order.Uint32(m.Data) != 0 {
						return nil, unix.Errno(-int32(order.Uint32(m.Data)))
					}
					done = true
				case m.Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(m.Data) < size:
					return nil, errors.ErrUnsupported
				default:
					address := netip.AddrFrom16([16]byte(m.Data[source:]))
					if family == unix.AF_INET {
						address = netip.AddrFrom4([4]byte(m.Data[source:]))
					}
					at := netip.AddrPortFrom(address.Unmap(), binary.BigEndian.Uint16(m.Data[4:]))
					sockets = append(sockets, socket{at, fmt.Sprintf("socket:[%d]", order.Uint32(m.Data[inode:]))})
				}
			}
		}
	}
	return sockets, nil
}

// procNetTCP are the listening sockets by proc_net_tcp(5): addresses are hexadecimal
// words in the machine's byte order (little endian, on amd64 and arm64).
func procNetTCP(of string) (sockets []socket, err error) {
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
