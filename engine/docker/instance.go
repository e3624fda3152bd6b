package docker

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/ready"
)

// instance is an engine in a container that was made for it.
type instance struct {
	*Container
	spec    engine.Spec
	kind    kinds.Kind
	at      *ports
	about   map[string]string
	startup atomic.Int64 // ns, 0 before ready
	given   atomic.Bool  // the ports were given back
}

var _ engine.Instance = (*instance)(nil)

// BaseURL implements engine.Instance.
func (i *instance) BaseURL() string {
	if i.at.reach == "" {
		return ""
	}
	return "http://" + i.at.reach
}

// Access implements engine.Instance.
func (i *instance) Access() engine.Access { return engine.Access{BaseURL: i.BaseURL()} }

// About implements engine.Instance.
func (i *instance) About() map[string]string { return maps.Clone(i.about) }

// Ready implements engine.Instance.
func (i *instance) Ready(ctx context.Context) error {
	took, err := ready.Waiter{
		Kind: i.kind, Model: i.spec.Model, Access: i.Access(), Started: i.Started, Limit: i.spec.ReadyTimeout,
		Exited: i.Exited(), Exit: i.Exit, Failure: i.notReady,
	}.Wait(ctx)
	if err == nil {
		i.startup.CompareAndSwap(0, int64(took))
		i.lookAtMemory(ctx.Done())
	}
	return err
}

func (i *instance) notReady(op string, cause error, format string, args ...any) *engine.Failure {
	reason := fmt.Sprintf(format, args...) + i.at.tunnel.broken()
	if i.at.publish != "" && (strings.Contains(reason, "connection reset") || strings.Contains(reason, "EOF")) {
		reason += fmt.Sprintf("; in a container it must listen on 0.0.0.0, not on 127.0.0.1, and on port %d", i.at.inside)
	}
	return i.Failure(op, cause, "%s", reason)
}

// Startup implements engine.Instance.
func (i *instance) Startup() time.Duration { return time.Duration(i.startup.Load()) }

// Stop implements engine.Instance.
func (i *instance) Stop(ctx context.Context) error {
	err := i.Container.Stop(ctx, i.spec.StopGrace)
	if err == nil && i.given.CompareAndSwap(false, true) {
		i.at.release()
	}
	return err
}
