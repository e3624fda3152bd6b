package openai

import (
	"io"
	"sync"
	"time"
)

const (
	// readBuffer is what one read can bring: a dozen events, which is more than a
	// client that keeps up ever finds waiting. Each stream has one here and one in
	// the transport, so that its size decides how many streams there can be.
	readBuffer = 4 << 10
	// drainTime is how long the connection may take to end after [DONE] before
	// it is given up instead of reused.
	drainTime = 250 * time.Millisecond
	// maxDrained bounds what is read after [DONE].
	maxDrained = 64 << 10
	// maxEvents and maxText bound a whole answer, in events and in bytes of text,
	// so that a server that never ends one cannot exhaust the client before a time
	// limit does. No model answers at such length.
	maxEvents = 1 << 20
	maxText   = 64 << 20
)

// receiver is what reading a stream needs.
type receiver struct {
	p   parser
	buf [readBuffer]byte
}

var receivers = sync.Pool{New: func() any { return new(receiver) }}

// receive reads events until [DONE] and looks at what follows it. A body that
// ends in order after a reason to finish is whole as well: transformers sends no
// [DONE].
func receive(from io.Reader, w *watch, got *collector) error {
	r := receivers.Get().(*receiver)
	defer receivers.Put(r)
	r.p.reset()
	err := r.events(from, w, got)
	if err == nil && got.done {
		r.drain(from, w, got)
	}
	return err
}

func (r *receiver) events(from io.Reader, w *watch, got *collector) error {
	p := &r.p
	for {
		n, readErr := from.Read(r.buf[:])
		at := time.Since(w.sent)
		before := got.log.n
		p.push(r.buf[:n])
		for p.next() {
			if err := take(p, at, got); err != nil {
				return err
			}
		}
		if readErr == io.EOF && p.finish() {
			if err := take(p, at, got); err != nil {
				return err
			}
		}
		events := got.log.n
		switch {
		case p.err != nil:
			return atEvent(p.err, events)
		case events > maxEvents, got.bytes() > maxText:
			return &StreamError{Kind: Endless, Detail: got.size(), Events: events}
		case got.done && events == 1:
			return p.nothing(&StreamError{Kind: Empty})
		case got.done:
			return nil
		case readErr == io.EOF && got.s.Finish != "":
			return nil
		case readErr == io.EOF:
			return p.nothing(&StreamError{Kind: EndedEarly, Detail: "no [DONE]", Events: events})
		case readErr != nil:
			return w.explain(readErr, events)
		}
		w.progress(at, events > before, got.began, p.unfinished())
	}
}

// take hands the parser's event to the collector, unless it is an error.
func take(p *parser, at time.Duration, got *collector) error {
	if p.ev.failed {
		return &StreamError{Kind: Reported, Detail: quoted(p.ev.failure), Events: got.log.n}
	}
	got.add(&p.ev, at)
	return nil
}

func atEvent(err error, events int) error {
	if s, ok := err.(*StreamError); ok {
		s.Events = events
	}
	return err
}

// nothing adds to the error of a stream what stood in it instead of events.
func (p *parser) nothing(e *StreamError) error {
	stray := p.stray
	if stray == nil {
		return e
	}
	if said, ok := failureIn(stray); ok {
		return &StreamError{Kind: Reported, Detail: quoted(said), Events: e.Events}
	}
	if e.Detail != "" {
		e.Detail += "; "
	}
	e.Detail += "a line is no field of an event stream: " + quoted(stray)
	return e
}

// drain reads what follows [DONE], so that the connection can be used again; it
// should be nothing but the end of the body, and what else it is is noted. A
// server that keeps the body open loses the connection.
func (r *receiver) drain(from io.Reader, w *watch, got *collector) {
	t := time.AfterFunc(drainTime, func() { w.cancel(errDrained) })
	defer t.Stop()
	r.p.resume()
	for left := maxDrained; ; {
		for r.p.next() {
			if r.p.ev.done {
				got.doubts.ends++
				r.p.resume()
			} else {
				got.doubts.after++
			}
		}
		if r.p.err != nil { // it was to be one
			got.doubts.after++
			return
		}
		n, err := from.Read(r.buf[:])
		if left -= n; err != nil && n == 0 || left < 0 {
			return
		}
		r.p.push(r.buf[:n])
	}
}
