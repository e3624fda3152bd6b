package openai

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// collector collects the events of one answer into a sample.
type collector struct {
	s                      measure.Sample
	log                    eventLog
	text, reasoning, tools []byte
	// textEvents counts events with text; uncounted is how many of them came without a
	// count of the server's, and said those that were not a tool call's.
	textEvents, uncounted, said int
	// visible is set if the text so far has visible characters.
	visible bool
	heard   func()
	// began is set if a token has been generated, as far as visible.
	began, done bool
	doubts      doubts
}

func newCollector(r Request) *collector {
	c := &collector{heard: r.Heard}
	c.s = measure.Sample{PromptTokens: -1, OutputTokens: -1, CachedTokens: -1, RequestedOutput: r.MaxTokens}
	return c
}

// add adds one event that arrived at the given time since the send.
func (c *collector) add(e *event, at time.Duration) {
	if e.index > 0 { // another choice is another answer, which was not requested: its text ends no wait
		e.text, e.reasoning, e.tools, e.finish = nil, nil, nil, nil
	}
	ev := measure.Event{At: at, Tokens: e.completion, Bytes: len(e.text) + len(e.reasoning) + len(e.tools)}
	switch {
	case e.done:
		ev.Kind, c.done = measure.KindDone, true
	case len(e.text) > 0:
		ev.Kind = measure.KindText
	case len(e.reasoning) > 0:
		ev.Kind = measure.KindReasoning
	case len(e.tools) > 0:
		ev.Kind = measure.KindTool
	case e.hasUsage && !e.hasChoice:
		ev.Kind = measure.KindUsage
	default:
		ev.Kind = measure.KindOther
	}
	if !c.visible && ev.Bytes > 0 {
		if c.visible = measure.Visible(string(e.text)+string(e.reasoning)+string(e.tools)) != ""; !c.visible {
			ev.Kind = measure.KindBlank
		}
	}
	c.log.add(ev)
	if ev.Bytes > 0 {
		c.textEvents++
		if e.completion < 1 {
			c.uncounted++
		}
		if ev.Kind != measure.KindTool {
			c.said++
		}
		if c.heard != nil {
			c.heard()
		}
	}
	c.began = c.began || ev.Bytes > 0 || e.completion > 0 || len(e.finish) > 0
	c.doubts.see(e, c)
	c.text = append(c.text, e.text...)
	c.reasoning = append(c.reasoning, e.reasoning...)
	c.tools = append(c.tools, e.tools...)
	if len(e.finish) > 0 {
		c.s.Finish = string(e.finish)
	}
	// Counts are running totals: the latest is the best.
	if e.completion >= 0 {
		c.s.OutputTokens = e.completion
	}
	if e.prompt >= 0 {
		c.s.PromptTokens = e.prompt
	}
	if e.cached >= 0 {
		c.s.CachedTokens = e.cached
	}
}

// bytes is the length of the text so far.
func (c *collector) bytes() int { return len(c.text) + len(c.reasoning) + len(c.tools) }

// size is how much of an answer has come.
func (c *collector) size() string {
	return fmt.Sprintf("%d bytes of text, for %d requested tokens", c.bytes(), c.s.RequestedOutput)
}

// sample returns the sample as far as it got.
func (c *collector) sample(err error) measure.Sample {
	s := c.s
	s.Events = c.log.events()
	s.Text, s.Reasoning, s.Tools = string(c.text), string(c.reasoning), string(c.tools)
	s.Doubts = c.doubts.said(c)
	switch {
	case s.OutputTokens < 0:
		s.OutputTokens, s.TokenSource = c.textEvents, measure.SourceEvents
	case c.textEvents > 0 && c.uncounted == 0:
		s.TokenSource = measure.SourceContinuousUsage
	default:
		s.TokenSource = measure.SourceUsage
	}
	if err != nil {
		s.Err = err.Error()
		if status, ok := errors.AsType[*StatusError](err); ok {
			s.Status = status.Status
		}
	}
	return s
}

// doubts are contradictions in an answer that can be read nevertheless. They stop nothing
// here, since their meaning for a measurement is not the client's to judge, but they are
// never silent: the sample carries them.
type doubts struct {
	// most is the highest count of output tokens, prompt the last of the prompt's.
	most, prompt int
	// last is the last count of an event with a choice.
	last               int
	fell, moved, final string
	choices            bool
	// after counts the events after the end marker, and ends further markers.
	after, ends int
	// again is how often the request was resent.
	again int
}

// see checks one event, which is already in the log of c.
func (d *doubts) see(e *event, c *collector) {
	if e.completion >= 0 {
		if e.completion < d.most && d.fell == "" {
			d.fell = fmt.Sprintf("the count of output tokens falls from %d to %d at event %d", d.most, e.completion, c.log.n)
		}
		d.most = max(d.most, e.completion)
	}
	switch counting := c.textEvents > 0 && c.uncounted == 0; {
	case e.hasChoice && e.completion > 0:
		d.last = e.completion
	case e.hasUsage && !e.hasChoice && counting && d.last > 0 && e.completion > d.last:
		d.final = fmt.Sprintf("%d output tokens at the end, but %d at the last event before", e.completion, d.last)
	}
	if e.prompt > 0 {
		if d.prompt > 0 && e.prompt != d.prompt && d.moved == "" {
			d.moved = fmt.Sprintf("the count of prompt tokens changes from %d to %d at event %d", d.prompt, e.prompt, c.log.n)
		}
		d.prompt = e.prompt
	}
	d.choices = d.choices || e.several || e.index > 0
}

// said are the doubts about the answer so far, in words, empty if there are none.
func (d *doubts) said(c *collector) string {
	var all []string
	add := func(doubtful bool, format string, values ...any) {
		if doubtful {
			all = append(all, fmt.Sprintf(format, values...))
		}
	}
	s := c.s
	add(d.fell != "", "%s", d.fell)
	add(d.final != "", "%s", d.final)
	add(d.moved != "", "%s", d.moved)
	add(s.OutputTokens >= 0 && s.OutputTokens < c.said, "%d output tokens, but text in %d events", s.OutputTokens, c.said)
	add(s.RequestedOutput > 0 && s.OutputTokens > s.RequestedOutput, "%d output tokens, but at most %d were requested", s.OutputTokens, s.RequestedOutput)
	add(s.PromptTokens >= 0 && s.CachedTokens > s.PromptTokens, "%d cached tokens in a prompt of %d", s.CachedTokens, s.PromptTokens)
	add(d.choices, "more than one choice; only the text of the first is kept")
	add(d.again == 1, "the request was resent because the server closed the connection before answering")
	add(d.again > 1, "the request was resent %d times because the server closed the connection before answering", d.again)
	add(d.ends > 0, "[DONE] came %d times", d.ends+1)
	add(d.after > 0, "%d events came after [DONE] and were not measured", d.after)
	return strings.Join(all, "; ")
}

const (
	// logChunk is the size of the pieces that a log grows by: some seventy events, so two
	// thousand concurrent streams need no more than they fill.
	logChunk = 512
	// maxRecord is the maximum size of a record: a byte and three varints.
	maxRecord = 1 + 3*binary.MaxVarintLen64
)

// Flags in a record's first byte, besides the kind.
const (
	kindBits  = 1<<3 - 1
	sameTime  = 1 << 3
	uncounted = 1 << 4
	noBytes   = 1 << 5
)

// eventLog keeps the events of a running stream. An event takes seven bytes where
// measure.Event takes 32: its time and its count are stored as differences from the event
// before. Nothing is rounded.
type eventLog struct {
	chunks [][]byte
	n      int
	// at and tokens are those of the last event; tokens of the last that had any.
	at     time.Duration
	tokens int
}

func (l *eventLog) add(e measure.Event) {
	last := len(l.chunks) - 1
	if last < 0 || cap(l.chunks[last])-len(l.chunks[last]) < maxRecord {
		l.chunks = append(l.chunks, make([]byte, 0, logChunk))
		last++
	}
	b := l.chunks[last]
	head := len(b)
	b = append(b, byte(e.Kind)&kindBits)
	if e.At == l.at {
		b[head] |= sameTime
	} else {
		b = binary.AppendVarint(b, int64(e.At-l.at))
	}
	if e.Tokens < 0 {
		b[head] |= uncounted
	} else {
		b = binary.AppendVarint(b, int64(e.Tokens-l.tokens))
		l.tokens = e.Tokens
	}
	if e.Bytes == 0 {
		b[head] |= noBytes
	} else {
		b = binary.AppendUvarint(b, uint64(e.Bytes))
	}
	l.chunks[last], l.at, l.n = b, e.At, l.n+1
}

// events are the events as they were added; a negative count comes back as -1.
func (l *eventLog) events() []measure.Event {
	if l.n == 0 {
		return nil
	}
	all := make([]measure.Event, 0, l.n)
	var at time.Duration
	tokens := 0
	for _, b := range l.chunks {
		for len(b) > 0 {
			head := b[0]
			b = b[1:]
			e := measure.Event{Kind: measure.Kind(head & kindBits), Tokens: -1}
			if head&sameTime == 0 {
				d, n := binary.Varint(b)
				at, b = at+time.Duration(d), b[n:]
			}
			if head&uncounted == 0 {
				d, n := binary.Varint(b)
				tokens, b = tokens+int(d), b[n:]
				e.Tokens = tokens
			}
			if head&noBytes == 0 {
				size, n := binary.Uvarint(b)
				e.Bytes, b = int(size), b[n:]
			}
			e.At = at
			all = append(all, e)
		}
	}
	return all
}
