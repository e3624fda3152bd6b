package enginetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// RunForeign tries a launcher of servers that somebody else runs: what Run asks
// of every launcher, less what would stop or start them. spec describes a server
// that runs already; never one that never becomes ready.
func RunForeign(t *testing.T, launcher engine.Launcher, spec, never SpecFunc) {
	s := &suite{launcher: launcher, healthy: spec, faults: map[Misbehaviour]Fault{NeverReady: {Is: NeverReady, Spec: never}}}
	t.Run("serves and is left running", func(t *testing.T) {
		r := s.ready(t, s.healthy(t))
		if strings.HasSuffix(r.BaseURL(), "/") || strings.HasSuffix(r.BaseURL(), "/v1") {
			t.Errorf("BaseURL %q must be the root without a slash", r.BaseURL())
		}
		if err := r.Ready(t.Context()); err != nil {
			t.Errorf("Ready, asked again: %v", err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if err := r.Stop(context.Background()); err != nil {
					t.Errorf("Stop: %v", err)
				}
			})
		}
		all.Wait()
		if body, err := get(r.BaseURL() + "/v1/models"); err != nil || !strings.Contains(body, "data") {
			t.Errorf("after Stop, GET /v1/models: %q, %v", body, err)
		}
		if r.Exit() != nil {
			t.Errorf("Exit is %v of a server that runs", r.Exit())
		}
		if left := marked(r.launch.ID); len(left) > 0 {
			t.Errorf("somebody else's processes carry our mark: %s", strings.Join(left, ", "))
		}
	})
	t.Run("two at a time", func(t *testing.T) {
		a, b := s.ready(t, s.healthy(t)), s.ready(t, s.healthy(t))
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := get(b.BaseURL() + "/v1/models"); err != nil {
			t.Errorf("stopping one broke the other: %v", err)
		}
	})
	t.Run("cancelled while waiting", func(t *testing.T) {
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
	})
	t.Run("never ready", func(t *testing.T) {
		_, spec := s.fault(t, NeverReady)
		spec.ReadyTimeout = 300 * time.Millisecond
		r := s.launch(t, spec)
		if f := asFailure(t, r.Ready(t.Context()), "become ready"); !strings.Contains(f.Reason, "300ms") {
			t.Errorf("the reason does not name the limit: %s", f.Reason)
		}
	})
}
