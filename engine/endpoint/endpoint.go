// Package endpoint finds engines that mxflow does not start: their address, keys and
// certificates, and whether they are still there. It starts and stops nothing except by
// the plan's restart command.
package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/process"
	"github.com/mxflow/mxflow/engine/ready"
)

// settledTimeout is the default time for a server not started by mxflow to answer: it
// should have been there already.
const settledTimeout = time.Minute

// Launcher launches nothing: it finds a running server, after its restart command if the
// plan has one. It never stops it. The zero value is ready to use.
type Launcher struct{}

// endpoint is an Instance that outlives its Stop.
type endpoint struct {
	spec    engine.Spec
	kind    kinds.Kind
	access  engine.Access
	started time.Time

	startup atomic.Int64 // ns, 0 before ready and for a server that was not started
	dead    chan struct{}
	once    sync.Once
}

var (
	_ engine.Launcher = Launcher{}
	_ engine.Checker  = (*endpoint)(nil)
)

// Launch implements Launcher.
func (Launcher) Launch(ctx context.Context, spec engine.Spec, l engine.Launch) (engine.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, engine.StartFailure(err, "it was cancelled before it started")
	}
	if spec.Endpoint == nil {
		return nil, engine.StartFailure(nil, "the plan has no endpoint block for it")
	}
	if spec.ReadyTimeout <= 0 && len(spec.Endpoint.Restart) == 0 {
		spec.ReadyTimeout = settledTimeout
	}
	kind, failure := spec.Prepare()
	if failure != nil {
		return nil, failure
	}
	access, failure := accessOf(spec.Endpoint)
	if failure != nil {
		return nil, failure
	}
	e := &endpoint{spec: spec, kind: kind, access: access, started: time.Now(), dead: make(chan struct{})}
	if e.fresh() {
		if failure := process.Restart(ctx, spec, l); failure != nil {
			return nil, failure
		}
	}
	return e, nil
}

// fresh reports whether the launch started with a restart of the server.
func (e *endpoint) fresh() bool { return len(e.spec.Endpoint.Restart) > 0 }

// BaseURL implements Instance.
func (e *endpoint) BaseURL() string { return e.access.BaseURL }

// Access implements Instance.
func (e *endpoint) Access() engine.Access { return e.access }

// About implements Instance. "fresh" is whether the launch is a start of its own: if it
// is "no", no comparison of launches can decide anything.
func (e *endpoint) About() map[string]string {
	about := map[string]string{"url": e.access.BaseURL, "fresh": "no"}
	if e.fresh() {
		about["fresh"] = "yes"
		about["restart"] = strings.Join(e.spec.Endpoint.Restart, " ")
	}
	if e.spec.Endpoint.Insecure {
		about["certificate"] = "not checked"
	}
	return about
}

// Output implements Instance: nothing can be run there.
func (e *endpoint) Output(context.Context, ...string) ([]byte, error) {
	return nil, engine.ErrElsewhere
}

// Ready implements Instance.
func (e *endpoint) Ready(ctx context.Context) error {
	took, err := ready.Waiter{
		Kind: e.kind, Model: e.spec.Model, Access: e.access, Started: e.started, Limit: e.spec.ReadyTimeout,
		Exited: e.dead, Exit: e.Exit, Failure: e.failure, Settled: !e.fresh(),
		Key: "api_key of its endpoint block and the variable that sets it",
	}.Wait(ctx)
	if err != nil {
		return err
	}
	if e.fresh() {
		e.startup.CompareAndSwap(0, int64(took))
	}
	return nil
}

// Startup implements Instance. A server that was already running has none.
func (e *endpoint) Startup() time.Duration { return time.Duration(e.startup.Load()) }

// Exited implements Instance: it is closed once Alive has found the server gone.
func (e *endpoint) Exited() <-chan struct{} { return e.dead }

// Exit implements Instance. How a server not started by mxflow ended is unknown, only
// that it has.
func (e *endpoint) Exit() *engine.Exit {
	select {
	case <-e.dead:
		return &engine.Exit{Code: -1}
	default:
		return nil
	}
}

// PeakMemory implements Instance; the memory of another machine is unknown.
func (e *endpoint) PeakMemory() int64 { return 0 }

// LogPath implements Instance: the server's log is its owner's.
func (e *endpoint) LogPath() string { return "" }

// Stop implements Instance: the server continues.
func (e *endpoint) Stop(context.Context) error { return nil }

func (e *endpoint) failure(op string, cause error, format string, args ...any) *engine.Failure {
	return &engine.Failure{Op: op, Reason: fmt.Sprintf(format, args...) + " (" + e.access.BaseURL + ")", Err: cause}
}

// Alive implements Checker.
func (e *endpoint) Alive(ctx context.Context) error {
	path := "/v1/models"
	for _, p := range e.kind.Ready {
		if p.Body == "" && !p.Slow {
			path = p.Path
			break
		}
	}
	status, says := ready.Reach(ctx, e.access, path)
	gone := status == 0
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		gone = true // a proxy before it cannot reach it either
	}
	if !gone || errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	e.once.Do(func() { close(e.dead) })
	return fmt.Errorf("the server no longer answers: %s", says)
}
