package run

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// listen listens at an address as vLLM does: others may, at the same port.
func listen(t *testing.T, address string) int {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return err
	}}
	l, err := config.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("cannot listen at %s: %v", address, err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// sleeper is a running process with a name.
func sleeper(t *testing.T, name string) int {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), name)
	text, err := os.ReadFile(sleep)
	if err == nil {
		err = os.WriteFile(path, text, 0o700)
	}
	must.Do(t, err)
	cmd := exec.Command(path, "1000")
	cmd.Args[0] = "sleep" // where one program has many names
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

func TestPortUser(t *testing.T) {
	self := os.Getpid()
	me := fmt.Sprintf("process %d (", self)
	stranger, docker := sleeper(t, "stranger"), sleeper(t, "docker")
	free := listen(t, "127.0.0.1:0")
	for name, tc := range map[string]struct {
		port int
		own  []int
		who  string
		seen bool
	}{
		"nobody":              {1, nil, "", true},
		"its own":             {free, []int{stranger, self}, "", true},
		"another's":           {free, []int{stranger}, me, true},
		"of nothing":          {free, nil, me, true},
		"all addresses":       {listen(t, "0.0.0.0:0"), []int{stranger}, me, true},
		"of both families":    {listen(t, "[::]:0"), []int{stranger}, me, true},
		"where nothing goes":  {listen(t, "[::1]:0"), []int{stranger}, "", true},
		"of another tree":     {free, []int{docker}, "", false},
		"gone, so no sockets": {free, []int{1 << 30}, me, true},
	} {
		who, seen := PortUser(tc.port, func(bool) []int { return tc.own })
		if seen != tc.seen || (who == "") != (tc.who == "") || !strings.HasPrefix(who, tc.who) {
			t.Errorf("%s: %q, %v; want %q, %v", name, who, seen, tc.who, tc.seen)
		}
	}
}

// A program that listens at the engine's port is never asked in its place: neither where the engine does not
// listen, nor where both do and the kernel divides connections among them.
func TestAnothersListenerIsNotAsked(t *testing.T) {
	for name, command := range map[string]string{
		"alone":  `echo "$MXFLOW_PORT" >port.new; mv port.new port; exec sleep 1000`,
		"beside": `echo "$MXFLOW_PORT" >port.new; mv port.new port; exec "$0" -test.run=TestBeside`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			spec := engine.Spec{
				Kind: "openai", Dir: dir, Command: []string{"sh", "-c", command, os.Args[0]},
				StopGrace: 10 * time.Millisecond,
			}
			inst, err := Launcher{}.Launch(t.Context(), spec,
				engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(dir, "log")})
			must.Do(t, err)
			defer inst.Stop(context.Background())
			port := ""
			for limit := time.Now().Add(30 * time.Second); port == "" &&
				time.Now().Before(limit); time.Sleep(time.Millisecond) {
				text, _ := os.ReadFile(filepath.Join(dir, "port"))
				port = strings.TrimSpace(string(text))
			}
			listen(t, "127.0.0.1:"+port)
			err = inst.Ready(t.Context())
			failure, ok := errors.AsType[*engine.Failure](err)
			if !ok || failure.Class != kinds.Port ||
				!strings.Contains(failure.Reason, fmt.Sprintf("process %d (", os.Getpid())) {
				t.Errorf("Ready: %v", err)
			}
			if who, seen := inst.(engine.Listener).PortUser(); who == "" || !seen {
				t.Errorf("at its end: %q, %v", who, seen)
			}
		})
	}
}

// BenchmarkPortUser asks who listens at the port of an engine that does itself, as each probe of its readiness does.
func BenchmarkPortUser(b *testing.B) {
	dir := b.TempDir()
	spec := engine.Spec{Kind: "openai", Dir: dir, Command: []string{os.Args[0], "-test.run=TestBeside"}}
	inst, err := Launcher{}.Launch(b.Context(), spec,
		engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(dir, "log")})
	must.Do(b, err)
	defer inst.Stop(context.Background())
	p := inst.(*process)
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		table, err := listeners("self")
		must.Do(b, err)
		if slices.ContainsFunc(table, func(s socket) bool { return reaches(s.at, p.port) }) {
			break
		}
	}
	for b.Loop() {
		if who, seen := p.PortUser(); who != "" || !seen {
			b.Fatalf("%q, %v", who, seen)
		}
	}
}

// TestBeside is the engine of the test above that listens too.
func TestBeside(t *testing.T) {
	port := os.Getenv("MXFLOW_PORT")
	if port == "" {
		t.Skip("it is a role of another test")
	}
	listen(t, "127.0.0.1:"+port)
	time.Sleep(time.Minute)
}

// serving is what an engine does that serves at another port than the one it was given. Each
// writes where to the file "port".
var serving = map[string]func(mux *http.ServeMux){
	"wrong port": pagesOf,
	// Metrics and health checks may have a port of their own.
	"healthy": func(mux *http.ServeMux) { mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {}) },
	"silent":  func(*http.ServeMux) {},
	// A worker serves while another one loads.
	"loading": func(mux *http.ServeMux) {
		pagesOf(mux)
		go func() {
			for {
				_ = sha256.Sum256(make([]byte, 1<<20))
			}
		}()
	},
}

func pagesOf(mux *http.ServeMux) {
	mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
	})
}

// An engine that serves at another port is told from one that has other ports too while it
// loads, and where it listens is part of what is said in the end.
func TestServesElsewhere(t *testing.T) {
	defer func(was time.Duration) { idleFor = was }(idleFor)
	idleFor = time.Second
	for name := range serving {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			spec := engine.Spec{
				Kind: "openai", Dir: dir, Command: []string{os.Args[0], "-test.run=TestServing", name},
				StopGrace: 10 * time.Millisecond, ReadyTimeout: 3 * time.Second,
			}
			wrong := name == "wrong port"
			if wrong {
				spec.ReadyTimeout = 5 * time.Minute
			}
			inst, err := Launcher{}.Launch(t.Context(), spec,
				engine.Launch{ID: "l", Owner: "o", LogPath: filepath.Join(dir, "log")})
			must.Do(t, err)
			defer inst.Stop(context.Background())
			err = inst.Ready(t.Context())
			text, _ := os.ReadFile(filepath.Join(dir, "port"))
			failure, ok := errors.AsType[*engine.Failure](err)
			switch {
			case !ok || len(text) == 0 || failure.Elsewhere.IsValid() != wrong:
				t.Errorf("Ready: %v", err)
			case wrong && (fmt.Sprint(failure.Elsewhere.Port()) != string(text) || failure.Class != kinds.Config ||
				failure.Port == 0):
				t.Errorf("it serves at %s: %+v", text, failure)
			case !wrong && (failure.Doing.Where() != string(text) || failure.Doing.Port == 0 ||
				failure.Doing.Logged.IsZero() || failure.Doing.Processor < 0):
				t.Errorf("%s: %+v", text, failure.Doing)
			}
		})
	}
}

// TestServing is the engine of the test above.
func TestServing(t *testing.T) {
	do := serving[os.Args[len(os.Args)-1]]
	if do == nil {
		t.Skip("it is a role of another test")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	fmt.Println("loading")
	must.Do(t, os.WriteFile("port", fmt.Append(nil, l.Addr().(*net.TCPAddr).Port), 0o600))
	mux := http.NewServeMux()
	do(mux)
	t.Fatal(http.Serve(l, mux))
}

func TestWhere(t *testing.T) {
	for _, c := range []struct{ listens, want string }{
		{"", ""},
		{"127.0.0.1:8000", "8000"},
		{"0.0.0.0:8000 [::]:8000 127.0.0.1:29500", "8000, 29500"},
		{"0.0.0.0:19719 127.0.0.1:9090", ""},
		{"[::]:19719", ""},
		{"[::1]:19719", "[::1]:19719"},
		{"192.168.1.5:19719", "192.168.1.5:19719"},
		{"192.168.1.5:8000", "192.168.1.5:8000"},
	} {
		d := engine.Doing{Port: 19719}
		for at := range strings.FieldsSeq(c.listens) {
			if l := netip.MustParseAddrPort(at); reaches(l, d.Port) {
				d.Listens = true
			} else {
				d.Elsewhere = append(d.Elsewhere, l)
			}
		}
		if got := d.Where(); got != c.want {
			t.Errorf("%s: %q, want %q", c.listens, got, c.want)
		}
	}
}

// TestListeners: the kernel's answer and its files say the same, and what it cannot tell is an
// error.
func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", ":0"} {
		port := uint16(listen(t, address))
		at := func(sockets []socket, err error) []socket {
			t.Helper()
			if err != nil {
				t.Skip(err) // this kernel has no sock_diag, or hides its files
			}
			return slices.DeleteFunc(sockets, func(s socket) bool { return s.at.Port() != port })
		}
		asked, read := at(sockDiag(unix.IPPROTO_TCP)), at(procNetTCP("self"))
		if len(asked) != 1 || !slices.Equal(asked, read) {
			t.Errorf("%s: sock_diag has %v, /proc %v", address, asked, read)
		}
	}
	const unassigned = 200 // a protocol that no module is for
	if sockets, err := sockDiag(unassigned); err == nil {
		t.Errorf("%v, and no error", sockets)
	}
}
