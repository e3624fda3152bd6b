package load

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// alarm wakes one goroutine at given times.
type alarm interface {
	// until returns true at t, or at once if that has passed, and false if the alarm's
	// context ended first.
	until(t time.Time) bool
	close()
}

// timerAlarm is an alarm of Go's timers, which on Linux wake up to a millisecond late:
// the runtime waits for them in whole milliseconds.
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

// delayEvery is how often the client checks its own delay: a hundred wake-ups a second,
// which cost about a thousandth of a core.
const delayEvery = 10 * time.Millisecond

// watchDelay asks to be woken repeatedly, and records how late it was, in ms since zero,
// until the alarm ends. The client would have seen an event at that time as late: garbage
// collection, too few cores, or a suspended machine show.
func watchDelay(wake alarm, zero time.Time) measure.Series {
	s := measure.Series{Name: measure.ClientDelay, Unit: "ms"}
	for next := time.Now().Add(delayEvery); wake.until(next); {
		now := time.Now()
		late := now.Sub(next)
		s.At = append(s.At, now.Sub(zero))
		s.Value = append(s.Value, float64(late)/float64(time.Millisecond))
		// Consecutive missed wake-ups are one delay, not many.
		if next = next.Add(delayEvery); !next.After(now) {
			next = now.Add(delayEvery)
		}
	}
	return s
}
