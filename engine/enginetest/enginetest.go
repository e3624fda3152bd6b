// Package enginetest is the conformance test of launchers and engine kinds:
// what package engine promises of an Instance, tried from outside. It knows no
// particular engine: it is handed Specs, for a healthy engine and for engines
// that misbehave in agreed ways. For tests without any engine it brings a fake
// one, which lives in the test binary itself (see Main).
package enginetest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// Misbehaviour names a way in which a faulty engine misbehaves.
type Misbehaviour string

const (
	// DiesEarly exits by itself before it is ready.
	DiesEarly Misbehaviour = "dies early"
	// DiesLater becomes ready, and exits by itself on the Fault's Trigger.
	DiesLater Misbehaviour = "dies later"
	// NeverReady runs and answers its readiness check with 503 for good. The
	// test shortens its ReadyTimeout.
	NeverReady Misbehaviour = "never ready"
	// IgnoresTerm becomes ready and does not end on SIGTERM. The test shortens
	// its StopGrace.
	IgnoresTerm Misbehaviour = "ignores SIGTERM"
	// Grandchildren becomes ready after it has started processes that outlive
	// it: one in its group, one in a session of its own, both ignoring SIGTERM.
	Grandchildren Misbehaviour = "grandchildren"
)

// SpecFunc makes the Spec to launch. It may skip the test.
type SpecFunc func(t *testing.T) engine.Spec

// Fault is an engine that misbehaves.
type Fault struct {
	Is   Misbehaviour
	Spec SpecFunc
	// Status is the exit status with which DiesEarly and DiesLater end, and Says
	// a text that DiesEarly prints before.
	Status int
	Says   string
	// Trigger makes DiesLater die; what the engine answers does not matter.
	Trigger func(baseURL string)
}

// Run tries a launcher with the engine that spec describes. Cases for which no
// fault is given are skipped.
func Run(t *testing.T, launcher engine.Launcher, spec SpecFunc, faults ...Fault) {
	s := &suite{launcher: launcher, healthy: spec, faults: map[Misbehaviour]Fault{}}
	for _, f := range faults {
		s.faults[f.Is] = f
	}
	t.Run("conforms", func(t *testing.T) { // which ends when all of them have
		for name, test := range map[string]func(*testing.T){
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
		} {
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
}

// running is an Instance with the marks it was launched with.
type running struct {
	engine.Instance
	launch engine.Launch
}

// fault is the engine that misbehaves so, with its Spec; or it skips the test.
func (s *suite) fault(t *testing.T, m Misbehaviour) (Fault, engine.Spec) {
	t.Helper()
	f, ok := s.faults[m]
	if !ok {
		t.Skipf("no engine was given for %q", m)
	}
	return f, f.Spec(t)
}

// launch starts spec, and stops it at the end of the test whatever happens.
func (s *suite) launch(t *testing.T, spec engine.Spec) *running {
	t.Helper()
	l := engine.Launch{
		ID: "test-" + rand.Text(), Owner: "test-" + rand.Text(),
		LogPath: filepath.Join(t.TempDir(), "engine.log"),
	}
	inst, err := s.launcher.Launch(t.Context(), spec, l)
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	stopAfter(t, inst)
	return &running{inst, l}
}

// stopAfter stops without grace when the test is over.
func stopAfter(t *testing.T, inst engine.Instance) {
	t.Cleanup(func() {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		if err := inst.Stop(done); err != nil {
			t.Errorf("Stop in cleanup: %v", err)
		}
	})
}

// Launch launches spec for one test, with marks of its own and a log in a folder
// that is not there yet, and stops it at the test's end.
func Launch(t *testing.T, launcher engine.Launcher, spec engine.Spec) (engine.Instance, error) {
	t.Helper()
	inst, err := launcher.Launch(t.Context(), spec, engine.Launch{
		ID: "test-" + rand.Text(), Owner: "test-" + rand.Text(), LogPath: filepath.Join(t.TempDir(), "run", "engine.log"),
	})
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

// stop stops it and checks that it is gone.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.Stop(context.Background()); err != nil {
		t.Errorf("Stop: %v", err)
	}
	r.mustBeGone(t)
}

// mustBeGone checks all that must hold once Stop has returned.
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

// eventually polls a condition that becomes true by itself. The limit is only
// there so that a broken engine does not hang the tests.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
