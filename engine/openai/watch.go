package openai

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Causes with which a watch cancels a request.
var (
	errTotal = errors.New("total time limit")
	errFirst = errors.New("first event time limit")
	errStall = errors.New("stall time limit")
)

// watch enforces the time limits of one request by cancelling its context.
type watch struct {
	parent, ctx context.Context
	cancel      context.CancelCauseFunc
	limits      Timeouts
	timers      []*time.Timer
	// stall runs from the first event on.
	first, stall *time.Timer
}

func newWatch(parent context.Context, limits Timeouts) *watch {
	w := &watch{parent: parent, limits: limits}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	if limits.Total > 0 {
		w.start(limits.Total, errTotal)
	}
	if limits.First > 0 {
		w.first = w.start(limits.First, errFirst)
	}
	return w
}

func (w *watch) start(limit time.Duration, cause error) *time.Timer {
	t := time.AfterFunc(limit, func() { w.cancel(cause) })
	w.timers = append(w.timers, t)
	return t
}

// progress notes that events arrived.
func (w *watch) progress() {
	if w.first != nil {
		w.first.Stop()
		w.first = nil
	}
	switch {
	case w.limits.Stall <= 0:
	case w.stall == nil:
		w.stall = w.start(w.limits.Stall, errStall)
	default:
		w.stall.Reset(w.limits.Stall)
	}
}

// close ends the request, if it still runs, and its timers.
func (w *watch) close() {
	for _, t := range w.timers {
		t.Stop()
	}
	w.cancel(context.Canceled)
}

// explain turns the error of a cancelled request into what cancelled it: a
// *StallError, the parent context's error, or a *StreamError for a connection
// that failed by itself.
func (w *watch) explain(err error, events int) error {
	switch cause := context.Cause(w.ctx); {
	case cause == nil:
		return &StreamError{Kind: Broken, Events: events, Err: err}
	case errors.Is(cause, errTotal):
		return &StallError{Waiting: "the whole answer", Limit: w.limits.Total, Events: events}
	case errors.Is(cause, errFirst):
		return &StallError{Waiting: "the first event", Limit: w.limits.First, Events: events}
	case errors.Is(cause, errStall):
		return &StallError{Waiting: "the next event", Limit: w.limits.Stall, Events: events}
	}
	// The parent's error says that it ended, its cause may say why.
	if w.parent.Err() == nil {
		return &StreamError{Kind: Broken, Events: events, Err: err}
	}
	err = w.parent.Err()
	if cause := context.Cause(w.parent); !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
