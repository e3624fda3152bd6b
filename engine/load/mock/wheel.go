package mock

import (
	"sync"
	"time"
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

// add hands an answer over. It comes back through its channel ended.
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

// close ends what is under way and returns when nothing is.
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
