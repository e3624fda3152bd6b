package docker

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// listening are the TCP ports that something in the container's network listens
// on, with the addresses.
func (s *shell) listening(ctx context.Context) (map[int][]netip.Addr, error) {
	text, err := s.run(ctx, scriptTools)
	return parseListening(text), err
}

// parseListening reads /proc/net/tcp and tcp6: "sl local_address rem_address st",
// addresses as hexadecimal words in the machine's byte order (taken as little
// endian, which amd64 and arm64 are), state 0A for listening.
func parseListening(text string) map[int][]netip.Addr {
	out := map[int][]netip.Addr{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" {
			continue
		}
		address, portText, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(portText, 16, 16)
		raw, err2 := hex.DecodeString(address)
		if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
			continue
		}
		for i := 0; i < len(raw); i += 4 {
			slices.Reverse(raw[i : i+4])
		}
		if ip, ok := netip.AddrFromSlice(raw); ok {
			out[int(port)] = append(out[int(port)], ip.Unmap())
		}
	}
	return out
}

// deaf explains why an engine that runs cannot be asked: it listens where nobody
// outside the container gets to. Empty where that is not so.
func (s *shell) deaf(ctx context.Context, r reach) string {
	if r.port == 0 || r.hostNetwork {
		return ""
	}
	busy, err := s.listening(ctx)
	if err != nil {
		return ""
	}
	at := busy[r.port]
	for _, ip := range at {
		if !ip.IsLoopback() {
			return ""
		}
	}
	if len(at) > 0 {
		return fmt.Sprintf("it listens on %s:%d inside the container alone, which cannot be reached from outside: let it listen on 0.0.0.0 (--host 0.0.0.0)", at[0], r.port)
	}
	var others []string
	for _, port := range slices.Sorted(maps.Keys(busy)) {
		others = append(others, strconv.Itoa(port))
	}
	if len(others) == 0 {
		return fmt.Sprintf("nothing listens on port %d in the container", r.port)
	}
	return fmt.Sprintf("nothing listens on port %d in the container, only on %s: pass {port} to the command, or name the port in the exec block",
		r.port, strings.Join(others, ", "))
}
