package main

import (
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/load/mock"
)

// window takes the processor time of this process when its job's window begins
// and when it ends.
type window struct {
	from, to time.Time
	used     time.Duration
	done     chan struct{}
	// atFrom and atTo, where set, are called at both moments.
	atFrom, atTo func()
}

func openWindow(j job) *window {
	return openCounting(j, func() {}, func() {})
}

func openCounting(j job, atFrom, atTo func()) *window {
	w := &window{done: make(chan struct{}), atFrom: atFrom, atTo: atTo}
	zero := time.Now()
	go func() {
		defer close(w.done)
		time.Sleep(time.Until(zero.Add(j.from())))
		before := mock.ProcessorTime()
		w.from = time.Now()
		w.atFrom()
		time.Sleep(time.Until(zero.Add(j.to())))
		w.used = mock.ProcessorTime() - before
		w.to = time.Now()
		w.atTo()
	}()
	return w
}

func (w *window) length() time.Duration { return w.to.Sub(w.from) }

// wait returns when the window has ended.
func (w *window) wait() { <-w.done }

// finish fills in what follows from the number of events.
func (w *window) finish(o *outcome) {
	o.Received = float64(o.Events) / w.length().Seconds()
	if o.Events > 0 {
		o.CPU = float64(w.used.Nanoseconds()) / 1e3 / float64(o.Events)
	}
}

// pacing is how the server sends the streams of a job.
func (j job) pacing() mock.Pacing {
	p := mock.Pacing{TTFT: firstToken.Microseconds(), ITL: int64(1e6 / j.Rate), Tokens: j.tokens(), PerEvent: 1}
	if j.Batched {
		p.Align = p.ITL
	}
	return p
}

// firstError keeps the first of many.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}
