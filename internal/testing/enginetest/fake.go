package enginetest

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// fakeEnv makes this process a fake engine, of the given role.
const fakeEnv = "MXFLOW_FAKE_ENGINE"

// fakeHostEnv is the address that a fake engine listens on if not loopback, as in a
// container.
const fakeHostEnv = "MXFLOW_FAKE_HOST"

// Main is for a package's TestMain: it runs the package's tests, or is a fake
// engine when the binary was started as one. What is to be done after the last
// test may follow; where that goes wrong, the tests have failed. It does not
// return.
//
//	func TestMain(m *testing.M) { enginetest.Main(m) }
func Main(m *testing.M, after ...func() error) {
	if role, ok := os.LookupEnv(fakeEnv); ok {
		os.Exit(fake(role))
	}
	status := m.Run()
	for _, do := range after {
		if err := do(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// Fake is the Spec of a fake engine: of kind openai, healthy if m is empty. It works in
// test binaries whose TestMain is Main. It prints "fake engine on port …" to its standard
// output and a line with an escape sequence to its standard error.
func Fake(m Misbehaviour) engine.Spec {
	return engine.Spec{
		Kind:         "openai",
		Command:      []string{"{mxflow}", "{port}"},
		Env:          map[string]string{fakeEnv: string(m)},
		ReadyTimeout: time.Minute,
		StopGrace:    time.Minute,
	}
}

// InContainer is a fake engine for an image whose entrypoint is the test binary: its only
// argument is the port, and it listens on every address.
func InContainer(spec engine.Spec) engine.Spec {
	spec.Command = []string{"{port}"}
	spec.Env = maps.Clone(spec.Env)
	spec.Env[fakeHostEnv] = "0.0.0.0"
	return spec
}

// Fakes are all fake engines that misbehave, for Run.
func Fakes() []Fault {
	faults := []Fault{
		{Is: DiesEarly, Status: 3, Says: "dying early"},
		{Is: DiesLater, Status: 4, Trigger: func(url string) { _, _ = get(url + "/die") }},
		{Is: NeverReady},
		{Is: IgnoresTerm},
		{Is: Grandchildren},
	}
	for i := range faults {
		m := faults[i].Is
		faults[i].Spec = func(*testing.T) engine.Spec { return Fake(m) }
	}
	return faults
}

// Variants of a fake engine that are not faults.
const (
	// NoHealth has no /health.
	NoHealth Misbehaviour = "no /health"
	// Spikes needs 64 MiB for a moment while it starts.
	Spikes Misbehaviour = "memory spikes"
)

// bystander is a fake engine's child: it ignores SIGTERM and does nothing.
const bystander = "bystander"

// fake is the whole life of a fake engine; it returns its exit status.
func fake(role string) int {
	switch m := Misbehaviour(role); m {
	case bystander:
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case DiesEarly:
		fmt.Fprintln(os.Stderr, "dying early")
		return 3
	default:
		fmt.Fprintln(os.Stderr, serve(m))
	}
	return 1
}

func serve(m Misbehaviour) error {
	switch m {
	case IgnoresTerm:
		signal.Ignore(syscall.SIGTERM)
	case Grandchildren:
		for _, own := range []bool{false, true} {
			if err := startBystander(own); err != nil {
				return err
			}
		}
	case Spikes:
		mem, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return err
		}
		clear(mem) // so that it is in memory
		if err := syscall.Munmap(mem); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(os.Getenv(fakeHostEnv), "127.0.0.1"), os.Args[1]))
	if err != nil {
		return err
	}
	fmt.Println("fake engine on port", os.Args[1])
	fmt.Fprintln(os.Stderr, "\x1b[32mINFO\x1b[0m Using backend: FAKE")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page := r.URL.Path; {
		case page == "/health" && m == NeverReady:
			http.Error(w, "loading", http.StatusServiceUnavailable)
		case page == "/health" && m != NoHealth:
		case page == "/v1/models":
			fmt.Fprintln(w, `{"object":"list","data":[{"id":"fake","object":"model"}]}`)
		case page == "/die" && m == DiesLater:
			os.Exit(4)
		default:
			http.NotFound(w, r)
		}
	}))
}

// startBystander starts one and returns when it ignores SIGTERM.
func startBystander(ownSession bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeEnv+"="+bystander)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = ready.Read(make([]byte, 1))
	return err
}
