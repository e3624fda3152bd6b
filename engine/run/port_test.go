package run

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine"
)

// A port that a server always uses must be free: anything already listening there would
// be measured in its place.
func TestFixedPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback: %v", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if _, _, failure := portFor(engine.Spec{Port: port}); failure == nil ||
		!strings.Contains(failure.Error(), "cannot use its port "+strconv.Itoa(port)+" (address already in use)") {
		t.Errorf("a port in use: %v", failure)
	}
	l.Close()
	got, release, failure := portFor(engine.Spec{Port: port})
	if failure != nil || got != port {
		t.Fatalf("%d, %v; want %d", got, failure, port)
	}
	if _, _, failure := portFor(engine.Spec{Port: port}); failure == nil ||
		!strings.Contains(failure.Error(), "another engine of this mxflow") {
		t.Errorf("a port that a launch has: %v", failure)
	}
	release()
	if _, release, failure = portFor(engine.Spec{Port: port}); failure != nil {
		t.Fatalf("a port that was given back: %v", failure)
	}
	release()
}
