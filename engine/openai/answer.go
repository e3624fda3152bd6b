package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
)

const (
	// minRead is the least room for one read.
	minRead = 4 << 10
	// maxEvent limits an event's size before its end, so a misbehaving server cannot exhaust
	// the client.
	maxEvent = 8 << 20
	// maxBatch is how many bytes of an answer are kept at most until its events are decoded,
	// so that two thousand long answers fit in memory: 850 events of vLLM that count tokens.
	maxBatch = 256 << 10
	// drainTime is how long the connection may take to end after [DONE] before it is
	// given up instead of reused, and maxDrained limits what is read of it.
	drainTime  = 250 * time.Millisecond
	maxDrained = 64 << 10
	// maxEvents and maxText limit a whole answer, in events and in bytes of text, so a
	// server that never ends one cannot exhaust the client before a time limit does. No
	// model answers at such length.
	maxEvents = 1 << 20
	maxText   = 64 << 20
)

// buffers are those of answers that were decoded. A new one has room for a hundred events,
// so that most grow at no time while answers come.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 32<<10); return &b }}

// answer is one streamed answer: what has come of it, and what was decoded so far.
//
// It follows the event stream grammar of the HTML standard (section 9.2.6) as servers use
// it: lines end in LF or CRLF, a blank line ends an event, several data lines are joined by
// LF, a line that starts with a colon is a comment, a byte order mark may come first. It
// departs from the standard where servers do: an event with empty data is a sign of life
// and is skipped; a line "error: …" is an error reported by the server (llama-server wrote
// these); and what comes after [DONE] is no part of the answer.
type answer struct {
	request Request
	s       measure.Sample
	// text, reasoning and tools are what was decoded, and spoken counts events with any but the
	// last: textEvents with any, uncounted those of them without a count of the server's.
	text, reasoning, tools        strings.Builder
	textEvents, uncounted, spoken int
	// visible is set if the text so far has visible characters, began if a token has been
	// generated as far as visible, late if data came after [DONE], enough once Request.Heard has
	// returned true.
	visible, began, late, enough bool
	// counted is the count of the last event with a choice, most the highest count.
	counted, most int
	// fell, moved and final are contradictions in the order of the events, each noted once.
	fell, moved, final string
	choices            bool // more than one
	// buf holds the bytes that are not decoded yet: first the events in frames, and from
	// start on one that is not complete. line is where its last line starts, searched how
	// far that has no end.
	buf                   []byte
	frames                []frame
	start, line, searched int
	// data is the data of the incomplete event; its from is 0 if there was none yet.
	data frame
	// received is the number of events so far; done is set by [DONE].
	received int
	done     bool
	// urgent is set by data that may be an error, broken is the error that was one.
	urgent bool
	broken *StreamError
	// stray is the first line that looks like JSON where a field should be: the body of an
	// answer that is not an event stream.
	stray string
}

// frame is the data of an event: buf[from:to], complete at a time since the send. reported
// is set if the server calls it an error.
type frame struct {
	from, to int
	at       time.Duration
	reported bool
}

func newAnswer(r Request) *answer {
	return &answer{
		buf: (*buffers.Get().(*[]byte))[:0], request: r,
		s: measure.Sample{PromptTokens: -1, OutputTokens: -1, CachedTokens: -1, RequestedOutput: r.MaxTokens},
	}
}

// receive reads until [DONE]. A body that ends properly after a finish reason is complete as
// well: transformers sends no [DONE].
func (a *answer) receive(from io.Reader, w *watch) error {
	for {
		if cap(a.buf)-len(a.buf) < minRead {
			a.buf = append(make([]byte, 0, 2*cap(a.buf)), a.buf...)
		}
		n, readErr := from.Read(a.buf[len(a.buf):cap(a.buf)])
		at := time.Since(w.sent)
		a.buf = a.buf[:len(a.buf)+n]
		before := a.received
		a.split(at)
		if readErr == io.EOF {
			a.last(at)
		}
		if !a.began || a.urgent || a.request.Heard != nil || len(a.buf) > maxBatch-minRead ||
			readErr != nil && !a.done {
			if err := a.decode(); err != nil {
				return err
			}
		}
		switch {
		case a.enough:
			return nil
		case len(a.buf)-a.start > maxEvent:
			return &StreamError{
				Kind: TooLarge, Detail: fmt.Sprintf("more than %d bytes without an end", maxEvent),
				Events: a.received,
			}
		case a.received > maxEvents, a.size() > maxText:
			detail := fmt.Sprintf("%d bytes of text, for %d requested tokens", a.size(), a.request.MaxTokens)
			return &StreamError{Kind: Endless, Detail: detail, Events: a.received}
		case a.done && a.received == 1:
			return a.nothing(&StreamError{Kind: Empty})
		case a.done, readErr == io.EOF && a.s.Finish != "":
			return nil
		case readErr == io.EOF:
			return a.nothing(&StreamError{Kind: EndedEarly, Detail: "no [DONE]", Events: a.received})
		case readErr != nil:
			return w.explain(readErr, a.received)
		}
		w.progress(at, a.received > before, a.began, a.unfinished())
	}
}

// unfinished reports whether an event has started and not ended.
func (a *answer) unfinished() bool {
	return a.data.from > 0 || len(a.buf) > a.line && a.buf[a.line] != ':'
}

// split finds the events that are complete. Nothing after [DONE] is one.
func (a *answer) split(at time.Duration) {
	for !a.done {
		n := bytes.IndexByte(a.buf[a.searched:], '\n')
		if n < 0 {
			a.searched = len(a.buf)
			return
		}
		end := a.searched + n
		a.field(a.line, end, at)
		a.line, a.searched = end+1, end+1
		if a.data.from == 0 {
			a.start = a.line
		}
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// field reads the line buf[from:to].
func (a *answer) field(from, to int, at time.Duration) {
	line := bytes.TrimRight(a.buf[from:to], " \t\r")
	to = from + len(line)
	if from == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		a.complete(at)
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "error":
		a.data.reported = true
	case "data":
	case "event":
		a.data.reported = a.data.reported || string(bytes.TrimSpace(value)) == "error"
		return
	default: // comments, and id, retry and unknown fields, which are ignored
		if line[0] == '{' && a.stray == "" {
			a.stray = string(line[:min(len(line), maxStatusBody+1)])
		}
		return
	}
	value = bytes.TrimLeft(value, " \t")
	if a.data.from > 0 { // moved behind the data so far, over the end of its line
		a.buf[a.data.to] = '\n'
		a.data.to += 1 + copy(a.buf[a.data.to+1:], value)
		return
	}
	a.data.from, a.data.to = to-len(value), to
}

// complete ends an event.
func (a *answer) complete(at time.Duration) {
	f := a.data
	data := a.buf[f.from:f.to]
	a.data = frame{}
	if len(data) == 0 {
		return
	}
	a.done = string(data) == "[DONE]"
	// What may be an error ends the request now.
	a.urgent = a.urgent || !a.done &&
		(f.reported || data[0] != '{' || data[len(data)-1] != '}' || bytes.Contains(data, []byte(`"error"`)))
	f.at = at
	a.frames = append(a.frames, f)
	a.received++
}

// last completes an event at the end of the stream, because some servers omit the blank
// line after the last; one that was cut off is none.
func (a *answer) last(at time.Duration) {
	if a.done {
		return
	}
	a.field(a.line, len(a.buf), at)
	a.line, a.searched = len(a.buf), len(a.buf)
	data := a.buf[a.data.from:a.data.to]
	if string(data) == "[DONE]" || a.data.reported || json.Valid(data) {
		a.complete(at)
	}
}

// decode decodes the complete events and removes their bytes. After an error there are no
// more.
func (a *answer) decode() error {
	a.s.Events = slices.Grow(a.s.Events, len(a.frames))
	for i, f := range a.frames {
		if a.broken == nil {
			a.broken = a.add(a.buf[f.from:f.to], f)
		}
		if a.broken != nil {
			a.received -= len(a.frames) - i
			a.broken.Events = a.received
			break
		}
	}
	a.frames, a.urgent = a.frames[:0], false
	if n := a.start; n > 0 {
		a.buf = append(a.buf[:0], a.buf[n:]...)
		a.start, a.line, a.searched = 0, a.line-n, a.searched-n
		if a.data.from > 0 {
			a.data.from, a.data.to = a.data.from-n, a.data.to-n
		}
	}
	if a.broken != nil {
		return a.broken
	}
	return nil
}

// nothing adds to a stream's error what it contained instead of events.
func (a *answer) nothing(e *StreamError) error {
	switch said, failed := failureIn([]byte(a.stray)); {
	case failed:
		return &StreamError{Kind: Reported, Detail: foreign.Quote(said), Events: e.Events}
	case a.stray == "":
		return e
	case e.Detail != "":
		e.Detail += "; "
	}
	e.Detail += "a line is not a field of an event stream: " + foreign.Quote(a.stray)
	return e
}

// drain reads what follows the answer, which should be nothing, so the connection can be
// reused. A server that keeps the body open loses the connection.
func (a *answer) drain(from io.Reader, w *watch) {
	t := time.AfterFunc(drainTime, func() { w.cancel(errors.New("the answer is complete")) })
	defer t.Stop()
	rest, _ := io.ReadAll(io.LimitReader(from, maxDrained)) // an error only costs the connection
	a.late = bytes.Contains(append(a.buf[a.line:], rest...), []byte("data:"))
}

// sample decodes what is left of an answer and returns it, with the error that it ended by.
func (a *answer) sample(err error) (measure.Sample, error) {
	if broken := a.decode(); broken != nil {
		err = broken
	}
	if b := a.buf; cap(b) <= maxBatch {
		buffers.Put(&b)
	}
	a.buf = nil
	return a.end(err), err
}
