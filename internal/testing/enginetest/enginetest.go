// Package enginetest is the conformance test of launchers and engine kinds: what package
// engine promises of an Instance, tested from outside. It knows no particular engine: it
// is given Specs, for a healthy engine and for engines that misbehave in defined ways.
// For tests without any engine it has a fake one, which lives in the test binary itself
// (see Main).
package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Misbehaviour names a way in which a faulty engine misbehaves.
type Misbehaviour string

const (
	// DiesEarly exits by itself before it is ready.
	DiesEarly Misbehaviour = "dies early"
	// DiesLater becomes ready, and exits by itself on the Fault's Trigger.
	DiesLater Misbehaviour = "dies later"
	// NeverReady runs and answers its readiness check with 503 forever. The test shortens
	// its ReadyTimeout.
	NeverReady Misbehaviour = "never ready"
	// IgnoresTerm becomes ready and does not end on SIGTERM. The test shortens
	// its StopGrace.
	IgnoresTerm Misbehaviour = "ignores SIGTERM"
	// Grandchildren becomes ready after it has started processes that outlive it: one in
	// its group, one in its own session, both ignoring SIGTERM.
	Grandchildren Misbehaviour = "grandchildren"
)

// SpecFunc returns the Spec to launch. It may skip the test.
type SpecFunc func(t *testing.T) engine.Spec

// Fault is an engine that misbehaves.
type Fault struct {
	Is   Misbehaviour
	Spec SpecFunc
	// Status is the exit status of DiesEarly and DiesLater, and Says a text that
	// DiesEarly prints before it.
	Status int
	Says   string
	// Trigger makes DiesLater die; what the engine answers does not matter.
	Trigger func(baseURL string)
}

// Run tests a launcher with the engine of spec. Cases without a given fault are skipped.
func Run(t *testing.T, launcher engine.Launcher, spec SpecFunc, faults ...Fault) {
	s := &suite{launcher: launcher, healthy: spec, faults: map[Misbehaviour]Fault{}}
	for _, f := range faults {
		s.faults[f.Is] = f
	}
	s.run(t, map[string]func(*testing.T){
		"serves":                       s.serves,
		"stops at once when cancelled": s.stopsWhenCancelled,
		"stops again and concurrently": s.stopsAgain,
		"two at a time":                s.twoAtATime,
		"cancelled while waiting":      s.cancelledWhileWaiting,
		"dies early":                   s.diesEarly,
		"dies later":                   s.diesLater,
		"never ready":                  s.neverReady,
		"ignores SIGTERM":              s.ignoresTerm,
		"grandchildren":                s.grandchildren,
	})
}

// RunForeign tests a launcher of servers that somebody else runs: the cases of Run,
// except those that would stop or start them. spec describes a running server; never one
// that never becomes ready.
func RunForeign(t *testing.T, launcher engine.Launcher, spec, never SpecFunc) {
	s := &suite{
		launcher: launcher, healthy: spec, foreign: true,
		faults: map[Misbehaviour]Fault{NeverReady: {Is: NeverReady, Spec: never}},
	}
	s.run(t, map[string]func(*testing.T){
		"serves and is left running": s.leftRunning,
		"two at a time":              s.twoAtATime,
		"cancelled while waiting":    s.cancelledWhileWaiting,
		"never ready":                s.neverReady,
	})
}

func (s *suite) run(t *testing.T, tests map[string]func(*testing.T)) {
	t.Run("conforms", func(t *testing.T) { // which ends when all of them have
		for name, test := range sorted.All(tests) {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // most of the time they wait
				test(t)
			})
		}
	})
}

type suite struct {
	launcher engine.Launcher
	healthy  SpecFunc
	faults   map[Misbehaviour]Fault
	foreign  bool // servers keep running when they are stopped
}

// running is an Instance with the marks it was launched with.
type running struct {
	engine.Instance
	launch  engine.Launch
	foreign bool
}

// fault is the engine with a misbehaviour, with its Spec; or it skips the test.
func (s *suite) fault(t *testing.T, m Misbehaviour) (Fault, engine.Spec) {
	t.Helper()
	f, ok := s.faults[m]
	if !ok {
		t.Skipf("no engine was given for %q", m)
	}
	return f, f.Spec(t)
}

// launch starts spec, and stops it at the end of the test in any case.
func (s *suite) launch(t *testing.T, spec engine.Spec) *running {
	t.Helper()
	l := newLaunch(t)
	inst, err := s.launcher.Launch(t.Context(), spec, l)
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	stopAfter(t, inst)
	return &running{inst, l, s.foreign}
}

// newLaunch has its own marks, and a log in a folder that does not exist yet.
func newLaunch(t *testing.T) engine.Launch {
	return engine.Launch{
		ID: "test-" + rand.Text(), Owner: "test-" + rand.Text(),
		LogPath: filepath.Join(t.TempDir(), "run", "engine.log"),
	}
}

// stopAfter stops without a grace period when the test is over.
func stopAfter(t *testing.T, inst engine.Instance) {
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if err := inst.Stop(done); err != nil {
			t.Errorf("Stop in cleanup: %v", err)
		}
	})
}

// Launch launches spec for one test, and stops it at the test's end.
func Launch(t *testing.T, launcher engine.Launcher, spec engine.Spec) (engine.Instance, error) {
	t.Helper()
	inst, err := launcher.Launch(t.Context(), spec, newLaunch(t))
	if err == nil {
		stopAfter(t, inst)
	}
	return inst, err
}

// ready starts spec and waits until it is ready.
func (s *suite) ready(t *testing.T, spec engine.Spec) *running {
	t.Helper()
	r := s.launch(t, spec)
	if err := r.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	return r
}

// stop stops it and checks that it is gone, if it is ours.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if !r.foreign {
		r.mustBeGone(t)
	}
}

// mustBeGone checks everything that must hold once Stop has returned.
func (r *running) mustBeGone(t *testing.T) {
	t.Helper()
	select {
	case <-r.Exited():
	default:
		t.Error("Exited is still open after Stop")
	}
	if r.Exit() == nil {
		t.Error("Exit is unknown after Stop")
	}
	if left := marked(r.launch.ID); len(left) > 0 {
		t.Errorf("after Stop there still run: %s", strings.Join(left, ", "))
	}
	if listens(r.BaseURL()) {
		t.Errorf("after Stop something still listens on %s", r.BaseURL())
	}
}

// eventually polls a condition that becomes true by itself. The limit only keeps a broken
// engine from hanging the tests.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func (s *suite) serves(t *testing.T) {
	r := s.launch(t, s.healthy(t))
	before := r.Startup()
	if err := r.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	if before != 0 || r.Startup() <= 0 {
		t.Errorf("Startup is %v before Ready, want 0, and %v after it", before, r.Startup())
	}
	if strings.HasSuffix(r.BaseURL(), "/") || strings.HasSuffix(r.BaseURL(), "/v1") {
		t.Errorf("BaseURL %q must be the root without a slash", r.BaseURL())
	}
	first := r.Startup()
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("Ready, asked again: %v", err)
	}
	if r.Startup() != first {
		t.Errorf("Startup changed from %v to %v", first, r.Startup())
	}
	if body, err := get(r.BaseURL() + "/v1/models"); err != nil || !strings.Contains(body, "data") {
		t.Errorf("GET /v1/models: %q, %v", body, err)
	}
	if r.Exit() != nil {
		t.Errorf("Exit is %v while it runs", r.Exit())
	}
	if r.LogPath() != r.launch.LogPath {
		t.Errorf("LogPath is %q, want %q", r.LogPath(), r.launch.LogPath)
	}
	eventually(t, "the log has text", func() bool {
		info, err := os.Stat(r.LogPath())
		return err == nil && info.Size() > 0
	})
	r.stop(t)
	if onLinux && r.PeakMemory() <= 0 {
		t.Errorf("PeakMemory is %d after a whole life", r.PeakMemory())
	}
}

func (s *suite) stopsWhenCancelled(t *testing.T) {
	spec := s.healthy(t)
	spec.StopGrace = time.Hour // which a cancelled Stop must not wait for
	r := s.launch(t, spec)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Stop(ctx); err != nil {
		t.Errorf("Stop: %v", err)
	}
	r.mustBeGone(t)
}

func (s *suite) stopsAgain(t *testing.T) {
	r := s.ready(t, s.healthy(t))
	r.stopOften(t)
	r.stop(t)
}

func (r *running) stopOften(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { r.stop(t) })
	}
	all.Wait()
}

func (s *suite) twoAtATime(t *testing.T) {
	a, b := s.ready(t, s.healthy(t)), s.ready(t, s.healthy(t))
	if a.BaseURL() == b.BaseURL() {
		t.Fatalf("two running engines share %s", a.BaseURL())
	}
	a.stop(t)
	if _, err := get(b.BaseURL() + "/v1/models"); err != nil {
		t.Errorf("stopping one engine broke the other: %v", err)
	}
	b.stop(t)
}

func (s *suite) cancelledWhileWaiting(t *testing.T) {
	_, spec := s.fault(t, NeverReady)
	r := s.launch(t, spec)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- r.Ready(ctx) }()
	cancel()
	err := <-result
	asFailure(t, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Ready: %v; want it to be context.Canceled", err)
	}
	if r.Exit() != nil {
		t.Errorf("cancelling the wait ended the engine: %v", r.Exit())
	}
	r.stop(t)
}

func (s *suite) diesEarly(t *testing.T) {
	fault, spec := s.fault(t, DiesEarly)
	spec.ReadyTimeout = time.Hour // which must not be waited for
	r := s.launch(t, spec)
	f := asFailure(t, r.Ready(t.Context()))
	want := engine.Exit{Code: fault.Status}
	if f.Exit == nil || *f.Exit != want {
		t.Errorf("the failure's Exit is %v, want %v", f.Exit, want)
	}
	if len(f.LogTail) == 0 || !strings.Contains(strings.Join(f.LogTail, "\n"), fault.Says) {
		t.Errorf("the failure's log tail is %q, want %q in it", f.LogTail, fault.Says)
	}
	if !strings.Contains(f.Error(), fault.Says) || !strings.Contains(f.Error(), want.String()) {
		t.Errorf("the message lacks the log or the exit status: %v", f)
	}
	<-r.Exited()
	r.stop(t)
}

func (s *suite) diesLater(t *testing.T) {
	fault, spec := s.fault(t, DiesLater)
	r := s.ready(t, spec)
	fault.Trigger(r.BaseURL())
	<-r.Exited()
	if exit, want := r.Exit(), (engine.Exit{Code: fault.Status}); exit == nil || *exit != want {
		t.Errorf("Exit is %v, want %v", exit, want)
	}
	asFailure(t, r.Ready(t.Context()))
	r.stop(t)
}

func (s *suite) neverReady(t *testing.T) {
	_, spec := s.fault(t, NeverReady)
	spec.ReadyTimeout = 300 * time.Millisecond
	r := s.launch(t, spec)
	f := asFailure(t, r.Ready(t.Context()))
	if f.Exit != nil {
		t.Errorf("the failure's Exit is %v of an engine that runs", f.Exit)
	}
	if !strings.Contains(f.Reason, "300ms") {
		t.Errorf("the reason does not name the limit: %s", f.Reason)
	}
	r.stop(t)
}

func (s *suite) ignoresTerm(t *testing.T) {
	_, spec := s.fault(t, IgnoresTerm)
	spec.StopGrace = 200 * time.Millisecond
	r := s.ready(t, spec)
	r.stop(t)
	if exit := r.Exit(); exit == nil || *exit != (engine.Exit{Code: -1, Signal: "SIGKILL"}) {
		t.Errorf("Exit is %v, want SIGKILL", exit)
	}
}

func (s *suite) grandchildren(t *testing.T) {
	_, spec := s.fault(t, Grandchildren)
	spec.StopGrace = 200 * time.Millisecond
	r := s.ready(t, spec)
	if before := len(marked(r.launch.ID)); onLinux && before < 3 {
		t.Errorf("%d processes carry the launch's mark, want the engine and its two", before)
	}
	r.stop(t)
}

// asFailure is why an engine did not become ready.
func asFailure(t *testing.T, err error) *engine.Failure {
	t.Helper()
	var f *engine.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a *engine.Failure", err)
	}
	if f.Op != "become ready" {
		t.Errorf("the failure's Op is %q, want \"become ready\"", f.Op)
	}
	return f
}

const onLinux = goruntime.GOOS == "linux"

// marked lists the processes with a launch's mark, as "pid (name)". It searches
// independently of package engine, and finds nothing outside Linux.
func marked(launch string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, _ := os.ReadFile(file)
		dir := filepath.Dir(file)
		if filepath.Base(dir) != strconv.Itoa(os.Getpid()) &&
			slices.Contains(strings.Split(string(environ), "\x00"), "MXFLOW_LAUNCH="+launch) {
			name, _ := os.ReadFile(filepath.Join(dir, "comm"))
			found = append(found, fmt.Sprintf("%s (%s)", filepath.Base(dir), bytes.TrimSpace(name)))
		}
	}
	return found
}

// listens reports whether something accepts connections at url.
func listens(url string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

var client = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	Timeout:   time.Minute,
}

// get is the body of a page that answers 200.
func get(url string) (string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	return string(body), err
}

// leftRunning is serves for a server that somebody else runs.
func (s *suite) leftRunning(t *testing.T) {
	r := s.ready(t, s.healthy(t))
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("Ready, asked again: %v", err)
	}
	r.stopOften(t)
	if body, err := get(r.BaseURL() + "/v1/models"); err != nil || !strings.Contains(body, "data") {
		t.Errorf("after Stop, GET /v1/models: %q, %v", body, err)
	}
	if r.Exit() != nil {
		t.Errorf("Exit is %v of a server that runs", r.Exit())
	}
	if left := marked(r.launch.ID); len(left) > 0 {
		t.Errorf("somebody else's processes carry our mark: %s", strings.Join(left, ", "))
	}
}
