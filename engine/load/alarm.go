package load

import (
	"context"
	"slices"
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

// wakeEvery is how often the client checks its own delay: 500 wake-ups a second, which
// cost about half a hundredth of a core. Delays between two of them are not noticed, and
// few tokens come meanwhile. delayEvery is how often it records one.
const (
	wakeEvery  = 2 * time.Millisecond
	delayEvery = 5 * wakeEvery
)

// delays is how late the client was: garbage collection, too few cores, or a suspended
// machine show. It would have seen an event of a stream as late.
type delays struct {
	// every is one reading every delayEvery, in ms since zero.
	every measure.Series
	// from and to are each time during which it should have woken and had not.
	from, to []time.Duration
}

// watchDelay asks to be woken repeatedly, and records how late it was, until the alarm
// ends.
func watchDelay(wake alarm, zero time.Time) delays {
	d := delays{every: measure.Series{Name: measure.ClientDelay, Unit: "ms"}}
	next := time.Now().Add(wakeEvery)
	for due := next.Add(delayEvery - wakeEvery); ; {
		woken := wake.until(next)
		now := time.Now()
		if now.After(next) {
			d.from, d.to = append(d.from, next.Sub(zero)), append(d.to, now.Sub(zero))
		}
		if !woken {
			return d
		}
		if !now.Before(due) {
			d.every.At = append(d.every.At, now.Sub(zero))
			d.every.Value = append(d.every.Value, float64(now.Sub(due))/float64(time.Millisecond))
			due = following(due, now, delayEvery)
		}
		if next = following(next, now, wakeEvery); due.Before(next) {
			next = due
		}
	}
}

// following is the time after due and now: consecutive missed wake-ups are one delay, not
// many.
func following(due, now time.Time, every time.Duration) time.Time {
	if due = due.Add(every); !due.After(now) {
		return now.Add(every)
	}
	return due
}

// most is the longest delay that lay between two times, at least in part.
func (d delays) most(from, to time.Duration) (most time.Duration) {
	first, _ := slices.BinarySearch(d.to, from)
	for i := first; i < len(d.to) && d.from[i] < to; i++ {
		most = max(most, d.to[i]-d.from[i])
	}
	return most
}
