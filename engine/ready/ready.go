// Package ready waits until an HTTP server answers as an engine of its kind does, and
// identifies what answers instead: another kind, a proxy, a login page. It does not know
// who started the server, or how to stop it.
package ready

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

const (
	// firstTry bounds one request to the readiness endpoint. Some engines generate a
	// token to answer it, and compile kernels for the first one: a request that times out
	// doubles the limit of the next, up to lastTry.
	firstTry = 2 * time.Second
	lastTry  = 30 * time.Second
)

// Waiter waits for the readiness of an engine on behalf of its launcher.
type Waiter struct {
	Kind   kinds.Kind
	Model  string
	Access engine.Access
	// Started is when the engine was started, Limit how long it may take.
	Started time.Time
	Limit   time.Duration
	// Exited and Exit are the Instance's.
	Exited <-chan struct{}
	Exit   func() *engine.Exit
	// Settled means that nobody is starting the server, so that there is no point in
	// waiting for a page that it does not know.
	Settled bool
	// Key names what to check if the server wants another key.
	Key string
	// Others are the Instance's (engine.Listener); nil if it is none.
	Others func() (who string, seen bool)
	// Failure makes the error, including how the engine is doing.
	Failure func(op string, cause error, format string, args ...any) *engine.Failure
}

// Wait sends the probes of the kind, one after the other, until each got the expected
// answer, and returns the time since the start. It fails at once if the engine ends. The
// error is an *engine.Failure.
func (w Waiter) Wait(ctx context.Context) (time.Duration, error) {
	waiting, cancel := context.WithDeadline(ctx, w.Started.Add(w.Limit))
	defer cancel()
	go func() { // the engine's end also ends a request in flight
		select {
		case <-w.Exited:
			cancel()
		case <-waiting.Done():
		}
	}()
	if len(w.Kind.Ready) == 0 {
		return time.Since(w.Started), nil
	}
	client, so := w.client(), probeState{try: firstTry, last: "none"}
	for {
		atOnce, err := w.question(waiting, client, &so)
		switch {
		case err != nil:
			return 0, err
		case so.next == len(w.Kind.Ready):
			took := time.Since(w.Started)
			if other := w.stranger(w.identify(waiting)); other != "" && w.Exit() == nil {
				return 0, w.Failure("become ready", nil, "%s", other)
			}
			return took, nil
		case atOnce:
			continue
		}
		select {
		case <-w.Exited:
		case <-waiting.Done():
		case <-time.After(pause(time.Since(w.Started))):
			continue
		}
		return 0, w.notReady(ctx, so.last)
	}
}

// probeState is how far the probes have been answered.
type probeState struct {
	// next is the probe to send, and try how long its answer may take.
	next int
	try  time.Duration
	// last describes the last answer, for people.
	last string
	// fellBack is set while the probe's fallback page is requested, identified once it
	// was checked what the server is.
	fellBack, identified bool
}

// question sends the next probe once. It reports whether the next question follows at
// once: either this one got the expected answer, or the fallback page is to be requested.
// Anything that waiting cannot cure is an error.
func (w Waiter) question(ctx context.Context, client *http.Client, so *probeState) (atOnce bool, err error) {
	if w.Others != nil {
		// Before anything is sent there.
		if who, _ := w.Others(); who != "" {
			f := w.Failure("become ready", nil, "%s listens at its port and is no part of it", who)
			f.Class = kinds.Port
			return false, f
		}
	}
	probe := w.Kind.Ready[so.next]
	path := probe.Path
	if so.fellBack {
		path = probe.Fallback
	}
	a := w.ask(ctx, client, probe, path, so.try)
	wrong := w.wrongAnswer(a)
	switch {
	case w.Exit() != nil:
	case wrong != "":
		return false, w.Failure("become ready", nil, "%s", wrong)
	case a.status == http.StatusOK && (probe.Contains == "" || strings.Contains(a.body, probe.Contains)):
		so.next, so.fellBack, so.try = so.next+1, false, firstTry
		return true, nil
	case a.status == http.StatusNotFound && probe.Fallback != "" && !so.fellBack:
		so.fellBack = true
		return true, nil
	case slices.Contains(probe.Final, a.status):
		return false, w.Failure("become ready", nil, "%s; %s", a.says, probe.Hint)
	case a.definite:
		return false, w.Failure("become ready", nil, "%s", a.says)
	case !so.identified && probe.Body == "" && (a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed):
		so.identified = true
		if why := w.unknownPage(ctx, a); why != "" {
			return false, w.Failure("become ready", nil, "%s", why)
		}
	}
	if a.says == noAnswer {
		so.try = min(2*so.try, lastTry)
	}
	if ctx.Err() == nil {
		so.last = a.says
	}
	return false, nil
}

// notReady explains why waiting for readiness ended.
func (w Waiter) notReady(ctx context.Context, last string) error {
	after := engine.Brief(time.Since(w.Started))
	if exit := w.Exit(); exit != nil {
		hint := ""
		if exit.Signal == "SIGKILL" {
			hint = "; mxflow did not kill it: the kernel may have, for lack of memory (see dmesg), or the engine itself after an error"
		}
		return w.Failure("become ready", nil, "it ended %s after its start, before it was ready%s", after, hint)
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return w.Failure("become ready", err, "waiting was cancelled %s after its start; last answer: %s", after, last)
	} else if err != nil {
		return w.Failure("become ready", err, "its time limit was reached %s after its start; last answer: %s", after, last)
	}
	return w.Failure("become ready", context.DeadlineExceeded,
		"it did not become ready within %s; last answer: %s", engine.Brief(w.Limit), last)
}

// pause is the time between two questions: a fiftieth of the time waited so far, within
// bounds, so that the startup time is known to about 2%.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/50, 5*time.Millisecond), 250*time.Millisecond)
}
