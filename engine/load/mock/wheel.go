package mock

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// wheel sends the events of many answers at their deadlines, from one
// goroutine: two thousand goroutines with a timer each would cost the processor
// time that the client is to be measured with.
//
//	connection ── add ──▶ inbox ──▶ queue ──▶ write ──▶ ended
//	                                  ▲         │ full socket
//	                                  └─ slow ◀─┘
//
// A client that does not read fills its socket; the rest of that event is then
// written by a goroutine of its own, and nobody else waits for it.
type wheel struct {
	clock Clock
	wait  *waiter

	mu     sync.Mutex
	inbox  []*answer
	closed bool

	queue   queue
	scratch []byte
	stopped chan struct{}
}

func newWheel(c Clock) (*wheel, error) {
	wait, err := newWaiter()
	if err != nil {
		return nil, err
	}
	w := &wheel{clock: c, wait: wait, stopped: make(chan struct{})}
	go w.run()
	return w, nil
}

// add passes an answer to the wheel. It comes back through its channel ended.
func (w *wheel) add(a *answer) {
	w.mu.Lock()
	refused := w.closed
	if !refused {
		w.inbox = append(w.inbox, a)
	}
	w.mu.Unlock()
	if refused {
		a.end(errStopped)
		return
	}
	w.wait.wake()
}

// close ends what is in progress and returns when nothing is.
func (w *wheel) close() {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if !again {
		w.wait.wake()
	}
	<-w.stopped
}

func (w *wheel) run() {
	defer close(w.stopped)
	defer w.wait.close()
	for {
		w.mu.Lock()
		for _, a := range w.inbox {
			w.queue.push(a)
		}
		w.inbox = w.inbox[:0]
		closed := w.closed
		w.mu.Unlock()
		if closed {
			for _, a := range w.queue {
				a.end(errStopped)
			}
			return
		}
		if len(w.queue) == 0 {
			w.wait.wait(-1)
			continue
		}
		if early := w.queue[0].due - w.clock.Now(); early > 0 {
			w.wait.wait(time.Duration(early))
			continue
		}
		w.send(w.queue[0])
	}
}

// send sends the event of the first answer in the queue.
func (w *wheel) send(a *answer) {
	w.scratch = a.event(w.scratch[:0])
	a.sending(w.clock.Now())
	rest, err := a.write(w.scratch)
	switch {
	case err != nil, len(rest) == 0 && a.sent == a.events:
		w.queue.pop()
		a.end(err)
	case len(rest) == 0:
		a.due = a.plan.due(a.sent)
		w.queue.fix()
	default:
		w.queue.pop()
		go w.slow(a, append([]byte(nil), rest...))
	}
}

// slow waits until the client has read enough for the rest of an event.
func (w *wheel) slow(a *answer, rest []byte) {
	if _, err := a.conn.Write(rest); err != nil || a.sent == a.events {
		a.end(err)
		return
	}
	a.due = a.plan.due(a.sent)
	w.add(a)
}

// queue is a binary heap of answers by their next deadline.
type queue []*answer

func (q *queue) push(a *answer) {
	*q = append(*q, a)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].due <= h[i].due {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

// fix restores the heap after the first one's deadline changed.
func (q queue) fix() {
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(q) && q[down].due < q[least].due {
				least = down
			}
		}
		if least == i {
			return
		}
		q[least], q[i] = q[i], q[least]
		i = least
	}
}

// pop removes the first one.
func (q *queue) pop() {
	h := *q
	n := len(h) - 1
	h[0], h[n] = h[n], nil
	*q = h[:n]
	q.fix()
}

// Clock reads CLOCK_MONOTONIC, which all processes of a machine share, at the cost of
// Go's own monotonic clock: that is the same clock with another zero, and needs no system
// call.
type Clock struct {
	zero time.Time
	at   int64
}

// NewClock finds the distance between the two. It is read several times and the closest
// pair taken, since the process may be interrupted in between.
func NewClock() (Clock, error) {
	var best Clock
	least := time.Duration(-1)
	for range 8 {
		var ts unix.Timespec
		zero := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			return Clock{}, fmt.Errorf("cannot read the monotonic clock: %w", err)
		}
		if took := time.Since(zero); least < 0 || took < least {
			least, best = took, Clock{zero: zero.Add(took / 2), at: ts.Nano()}
		}
	}
	return best, nil
}

// Now is in ns.
func (c Clock) Now() int64 { return c.at + int64(time.Since(c.zero)) }

// At is a time of this process on the clock.
func (c Clock) At(t time.Time) int64 { return c.at + int64(t.Sub(c.zero)) }
