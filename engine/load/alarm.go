package load

import (
	"context"
	"time"
)

// alarm wakes one goroutine at given times.
type alarm interface {
	// until returns true at t, or at once if that has passed, and false when the
	// alarm's context has ended before.
	until(t time.Time) bool
	close()
}

// timerAlarm is an alarm of Go's timers, which on Linux wake up to a millisecond
// late: the runtime waits for them in whole milliseconds.
type timerAlarm struct {
	ctx   context.Context
	timer *time.Timer
}

func newTimerAlarm(ctx context.Context) alarm {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &timerAlarm{ctx, t}
}

func (a *timerAlarm) until(t time.Time) bool {
	if d := time.Until(t); d > 0 {
		a.timer.Reset(d)
		select {
		case <-a.timer.C:
		case <-a.ctx.Done():
		}
	}
	return a.ctx.Err() == nil
}

func (a *timerAlarm) close() { a.timer.Stop() }
