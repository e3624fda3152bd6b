package enginetest

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
)

func (s *suite) serves(t *testing.T) {
	r := s.launch(t, s.healthy(t))
	if r.Startup() != 0 {
		t.Errorf("Startup is %v before Ready, want 0", r.Startup())
	}
	if err := r.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	if r.Startup() <= 0 {
		t.Errorf("Startup is %v after Ready", r.Startup())
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
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { r.stop(t) })
	}
	all.Wait()
	r.stop(t)
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
	asFailure(t, err, "become ready")
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
	f := asFailure(t, r.Ready(t.Context()), "become ready")
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
	asFailure(t, r.Ready(t.Context()), "become ready")
	r.stop(t)
}

func (s *suite) neverReady(t *testing.T) {
	_, spec := s.fault(t, NeverReady)
	spec.ReadyTimeout = 300 * time.Millisecond
	r := s.launch(t, spec)
	f := asFailure(t, r.Ready(t.Context()), "become ready")
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

func asFailure(t *testing.T, err error, op string) *engine.Failure {
	t.Helper()
	var f *engine.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a *engine.Failure", err)
	}
	if f.Op != op {
		t.Errorf("the failure's Op is %q, want %q", f.Op, op)
	}
	return f
}
