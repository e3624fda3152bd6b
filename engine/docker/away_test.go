package docker_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/docker/dockertest"
)

// relay is a way to the real daemon that can be cut, in place of a daemon on
// another machine.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t *testing.T, l net.Listener, socket string) *relay {
	t.Helper()
	r := &relay{listener: l}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go r.join(from, socket)
		}
	}()
	t.Cleanup(r.cut)
	return r
}

func (r *relay) join(from net.Conn, socket string) {
	defer from.Close()
	if secured, ok := from.(*tls.Conn); ok && secured.Handshake() != nil {
		return
	}
	to, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer to.Close()
	r.mu.Lock()
	r.conns = append(r.conns, from, to)
	r.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(from, to)
}

// cutAll ends the connections that stand, cut also the way itself.
func (r *relay) cutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func (r *relay) cut() {
	r.listener.Close()
	r.cutAll()
}

// relayed is a relay to the daemon, and its address for a Spec.
func relayed(t *testing.T, d *docker.Daemon) (*relay, string) {
	t.Helper()
	socket, ok := strings.CutPrefix(d.Host(), "unix://")
	if !ok {
		t.Skipf("the daemon %s is not on a socket of this machine", d.Name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newRelay(t, l, socket), "tcp://" + l.Addr().String()
}

func TestDaemonGoesAway(t *testing.T) {
	d := dockertest.Daemon(t)
	docker.ShortenReturn(t)
	r, host := relayed(t, d)
	spec := script(dockertest.Image(t, d, dockertest.Self(t)), "print", "started", "sleep")
	spec.Docker.Host = host
	to := launchOf(t)
	inst, err := docker.Launcher{}.Launch(t.Context(), spec, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what mxflow could not remove
		if _, err := docker.Sweep(context.Background(), d, to.Owner, farFuture); err != nil {
			t.Error(err)
		}
	})
	waitForLog(t, inst, "started")
	r.cut()
	err = inst.Ready(t.Context())
	var f *engine.Failure
	if !errors.As(err, &f) || !errors.Is(err, docker.ErrUnreachable) || !strings.Contains(f.Reason, "went away while it ran") {
		t.Errorf("Ready: %v", err)
	}
	if log, ok := inst.(interface{ LogBroken() bool }); !ok || !log.LogBroken() {
		t.Error("a log that cannot be followed any more is taken for whole")
	}
	err = inst.Stop(t.Context())
	if !errors.As(err, &f) || f.Op != "stop" || !strings.Contains(f.Reason, "docker rm -f "+inst.About()["container"]) {
		t.Errorf("Stop: %v", err)
	}
	if n := len(left(t, d, to.Owner)); n != 1 {
		t.Errorf("%d containers are there, want the one that could not be removed", n)
	}
}

// A connection that breaks is no daemon that went away.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	d := dockertest.Daemon(t)
	r, host := relayed(t, d)
	spec := script(dockertest.Image(t, d, dockertest.Self(t)),
		"print", "started", "sleep-until", "/go", "print", "goes on", "sleep-until", "/end", "exit", "7")
	spec.Docker.Host = host
	inst := launched(t, docker.Launcher{}, spec, launchOf(t))
	waitForLog(t, inst, "started")
	r.cutAll()
	if _, err := inst.Output(t.Context(), "/program", "touch", "/go"); err != nil {
		t.Fatal(err)
	}
	waitForLog(t, inst, "goes on")
	if inst.Exit() != nil {
		t.Errorf("it counts as ended: %v", inst.Exit())
	}
	if _, err := inst.Output(t.Context(), "/program", "touch", "/end"); err != nil {
		t.Fatal(err)
	}
	<-inst.Exited()
	const want = "started\n\n[mxflow] the log was interrupted here: lines may be missing\ngoes on\n"
	if log, err := os.ReadFile(inst.LogPath()); string(log) != want {
		t.Errorf("the log is %q, %v; want %q", log, err, want)
	}
	if exit := inst.Exit(); *exit != (engine.Exit{Code: 7}) {
		t.Errorf("Exit is %v", exit)
	}
}
