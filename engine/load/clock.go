package load

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mxflow/mxflow/engine/measure"
)

// timerError is how late Go's timers wake on Linux: the runtime waits for them in whole
// milliseconds.
const timerError = 2 * time.Millisecond

// sleepUntil returns true at t, or at once if that has passed, and false if ctx ended
// first. The last two milliseconds are slept in the kernel, which wakes within about
// 0.1 ms: on two cores, medians of 0.08 and 0.59 ms for it and a timer alone, 99th
// percentiles of 0.13 and 1.4 ms. It burns no processor, as spinning would.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timerUntil(ctx, t.Add(-timerError))
	for d := time.Until(t); d > 0 && ctx.Err() == nil; d = time.Until(t) {
		timeout := unix.NsecToTimeval(int64(d + time.Microsecond - 1))
		_, _ = unix.Select(0, nil, nil, nil, &timeout) // a signal ends it early
	}
	return ctx.Err() == nil
}

// timerUntil is sleepUntil by a timer alone.
func timerUntil(ctx context.Context, t time.Time) bool {
	if d := time.Until(t); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// wakeEvery is how often the client checks its own delay: 500 wake-ups a second, which
// cost about 2% of a core. Delays between two of them are not noticed, and few tokens
// come meanwhile. delayEvery is how often it records one.
const (
	wakeEvery  = 2 * time.Millisecond
	delayEvery = 5 * wakeEvery
	// shortDelay excuses no answer (measure.Sample.ReadLate): kept, they would fill the memory
	// in a cell of an hour.
	shortDelay = 2 * measure.FastestStep
)

// delays is how late the client was: garbage collection, too few cores, or a suspended
// machine show. It would have seen an event of a stream as late.
type delays struct {
	// every is one reading every delayEvery, in ms since zero.
	every measure.Series
	// from and to are each time, from shortDelay on, during which it should have woken and had not.
	from, to []time.Duration
}

// watchDelay sleeps repeatedly, and records how late it woke, until ctx ends.
func watchDelay(ctx context.Context, sleep sleeper, zero time.Time) delays {
	d := delays{every: measure.Series{Name: measure.ClientDelay, Unit: "ms"}}
	// after is the next time of a kind: consecutive missed wake-ups are one delay.
	after := func(due, now time.Time, every time.Duration) time.Time {
		if due = due.Add(every); !due.After(now) {
			return now.Add(every)
		}
		return due
	}
	next := time.Now().Add(wakeEvery)
	for due := next.Add(delayEvery - wakeEvery); ; {
		woken := sleep(ctx, next)
		now := time.Now()
		if now.Sub(next) >= shortDelay {
			d.from, d.to = append(d.from, next.Sub(zero)), append(d.to, now.Sub(zero))
		}
		if !woken {
			return d
		}
		if !now.Before(due) {
			d.every.At = append(d.every.At, now.Sub(zero))
			d.every.Value = append(d.every.Value, float64(now.Sub(due))/float64(time.Millisecond))
			due = after(due, now, delayEvery)
		}
		if next = after(next, now, wakeEvery); due.Before(next) {
			next = due
		}
	}
}

// most is the longest delay that lay between two times, at least in part.
func (d delays) most(from, to time.Duration) (most time.Duration) {
	first, _ := slices.BinarySearch(d.to, from)
	for i := first; i < len(d.to) && d.from[i] < to; i++ {
		most = max(most, d.to[i]-d.from[i])
	}
	return most
}
