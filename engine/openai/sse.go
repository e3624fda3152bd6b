package openai

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"
)

// maxEvent limits an event's size before its end, so a misbehaving server cannot exhaust
// the client. maxKept is how much buffer a parser keeps for the next stream.
const (
	maxEvent = 8 << 20
	maxKept  = 32 << 10
)

// parser turns the bytes of an event stream into events. Bytes come in chunks
// cut anywhere; the events do not depend on the cuts. It follows the event
// stream grammar of the HTML standard (section 9.2.6): lines end in CR, LF or
// both, a blank line ends an event, several data lines are joined by LF, a
// line that starts with a colon is a comment, a byte order mark may come first.
//
//	p.push(chunk)
//	for p.next() {
//		use(&p.ev)
//	}
//	if p.err != nil { … }
//
// It departs from the standard where servers do: an event with empty data is a
// sign of life and is skipped; a line "error: …" is an error reported by the
// server (llama-server wrote these); and what comes after [DONE] is ignored.
type parser struct {
	ev  event
	err error

	limit int
	// chunk is what next reads, pos its position; lf is the index of the next LF at or
	// after pos, so lines that end in CR do not search for it again.
	chunk   []byte
	pos, lf int
	// line is the unfinished last line of earlier chunks.
	line []byte
	// data is the data of the unfinished event.
	data    []byte
	hasData bool
	// reported is set if the data came in an error line.
	reported bool
	// stray is the start of the first line that looks like JSON where a field should be:
	// the body of an answer that is not an event stream.
	stray []byte
	// skipLF is set if the last line ended in CR, and an LF right after belongs to it.
	skipLF bool
	// mark counts the bytes of a byte order mark seen; 3 once that is settled.
	mark    int
	json    scanner
	strings []byte
}

// reset makes the parser new, keeping its buffers if they are small.
func (p *parser) reset() {
	*p = parser{limit: maxEvent, line: p.line[:0], data: p.data[:0], strings: p.strings[:0], json: p.json}
	p.json.b = nil
	if cap(p.line)+cap(p.data)+cap(p.strings)+16*cap(p.json.f.calls) > maxKept {
		*p = parser{limit: maxEvent}
	}
}

// unfinished reports whether an event has started and not ended: some of its bytes have
// come, but not the blank line.
func (p *parser) unfinished() bool { return p.hasData || len(p.line) > 0 && p.line[0] != ':' }

const byteOrderMark = "\xef\xbb\xbf"

// push gives the parser the next bytes. The chunk must stay unchanged until
// next has returned false.
func (p *parser) push(chunk []byte) {
	for p.mark < len(byteOrderMark) && len(chunk) > 0 {
		if chunk[0] != byteOrderMark[p.mark] {
			p.line = append(p.line, byteOrderMark[:p.mark]...)
			p.mark = len(byteOrderMark)
			break
		}
		p.mark++
		chunk = chunk[1:]
	}
	p.chunk, p.pos, p.lf = chunk, 0, -1
}

// next finds the next event and reports whether there is one. After an error
// there is none.
func (p *parser) next() bool {
	for p.err == nil && !p.ev.done {
		line, ok := p.nextLine()
		if !ok {
			return false
		}
		if len(line) > 0 {
			p.field(line)
		} else if p.hasData && p.dispatch() {
			return true
		} else {
			p.reported = false
		}
		p.line = p.line[:0]
	}
	return false
}

// resume continues after [DONE].
func (p *parser) resume() { p.ev.done, p.line = false, p.line[:0] }

// nextLine returns the next complete line without its end. If there is none, the rest of
// the chunk is kept for the next one.
func (p *parser) nextLine() ([]byte, bool) {
	if p.skipLF && p.pos < len(p.chunk) {
		if p.chunk[p.pos] == '\n' {
			p.pos++
		}
		p.skipLF = false
	}
	if p.lf < p.pos {
		p.lf = len(p.chunk)
		if i := bytes.IndexByte(p.chunk[p.pos:], '\n'); i >= 0 {
			p.lf = p.pos + i
		}
	}
	rest := p.chunk[p.pos:p.lf]
	cr := bytes.IndexByte(rest, '\r')
	if cr >= 0 {
		rest = rest[:cr]
	}
	if len(p.line)+len(rest)+len(p.data) > p.limit {
		p.err = &StreamError{Kind: TooLarge, Detail: "more than " + strconv.Itoa(p.limit) + " bytes without an end"}
		return nil, false
	}
	p.pos += len(rest)
	if p.pos == len(p.chunk) {
		p.line = append(p.line, rest...)
		return nil, false
	}
	p.pos++
	p.skipLF = cr >= 0
	if len(p.line) == 0 {
		return rest, true
	}
	p.line = append(p.line, rest...)
	return p.line, true
}

// field handles one line that is not blank.
func (p *parser) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "error":
		p.reported = true
	case "data":
	case "event":
		p.reported = p.reported || string(bytes.TrimSpace(value)) == "error"
		return
	default: // comments, and id, retry and unknown fields, which are ignored
		if line[0] == '{' && p.stray == nil {
			p.stray = bytes.Clone(line[:min(len(line), maxStatusBody+1)])
		}
		return
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if p.hasData {
		p.data = append(p.data, '\n')
	}
	p.data = append(p.data, value...)
	p.hasData = true
}

// dispatch turns the data into an event, and reports whether it was one.
func (p *parser) dispatch() bool {
	data, reported := trimmed(p.data), p.reported
	p.data, p.hasData, p.reported = p.data[:0], false, false
	if len(data) == 0 {
		return false
	}
	if string(data) == "[DONE]" {
		p.ev = event{done: true, completion: -1, prompt: -1, cached: -1}
		return true
	}
	valid := p.json.scan(data) && data[0] == '{'
	if !valid && !reported {
		p.err = &StreamError{Kind: Malformed, Detail: quoted(data)}
		return false
	}
	if valid {
		p.strings = p.json.read(&p.ev, p.strings[:0])
	} else {
		p.ev = event{completion: -1, prompt: -1, cached: -1}
	}
	if reported && !p.ev.failed {
		p.ev.failed, p.ev.failure = true, data
	}
	return true
}

// trimmed is b without the white space around it.
func trimmed(b []byte) []byte {
	b = b[space(b, 0):]
	for n := len(b) - 1; n >= 0 && space(b, n) > n; n-- {
		b = b[:n]
	}
	return b
}

// finish tells the parser that the stream has ended and reports whether that completed
// one more event: some servers omit the blank line after the last. A truncated text is
// not an event, and not an error here: the caller knows that the stream ended early.
func (p *parser) finish() bool {
	if p.err != nil || p.ev.done {
		return false
	}
	if len(p.line) > 0 {
		p.field(p.line)
		p.line = p.line[:0]
	}
	if p.hasData && p.dispatch() {
		return true
	}
	p.err = nil
	return false
}

const (
	// readBuffer is the maximum of one read: a dozen events, more than a client that
	// keeps up ever finds waiting. Each stream has one here and one in the transport, so
	// its size determines how many streams there can be.
	readBuffer = 4 << 10
	// drainTime is how long the connection may take to end after [DONE] before it is
	// given up instead of reused.
	drainTime = 250 * time.Millisecond
	// maxDrained limits what is read after [DONE].
	maxDrained = 64 << 10
	// maxEvents and maxText limit a whole answer, in events and in bytes of text, so a
	// server that never ends one cannot exhaust the client before a time limit does. No
	// model answers at such length.
	maxEvents = 1 << 20
	maxText   = 64 << 20
)

// receiver is what reading a stream needs.
type receiver struct {
	p   parser
	buf [readBuffer]byte
}

var receivers = sync.Pool{New: func() any { return new(receiver) }}

// receive reads events until [DONE] and checks what follows it. A body that ends properly
// after a finish reason is complete as well: transformers sends no [DONE].
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

// take passes the parser's event to the collector, unless it is an error.
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

// nothing adds to a stream's error what it contained instead of events.
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
	e.Detail += "a line is not a field of an event stream: " + quoted(stray)
	return e
}

// drain reads what follows [DONE], so the connection can be reused; anything but the end
// of the body is noted. A server that keeps the body open loses the connection.
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
