package openai

import (
	"errors"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// collector gathers the events of one answer into a sample.
type collector struct {
	s                      measure.Sample
	log                    eventLog
	text, reasoning, tools []byte
	// textEvents counts events with text; uncounted is how many of them came
	// without a count of the server's, and said those that were no tool call's.
	textEvents, uncounted, said int
	// began: a token has been generated, as far as one can see.
	began, done bool
	doubts      doubts
}

func newCollector(r Request) *collector {
	c := &collector{}
	c.s = measure.Sample{PromptTokens: -1, OutputTokens: -1, CachedTokens: -1, RequestedOutput: r.MaxTokens}
	return c
}

// add takes in one event that arrived at the given time since the send.
func (c *collector) add(e *event, at time.Duration) {
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
	c.log.add(ev)
	if ev.Bytes > 0 {
		c.textEvents++
		if e.completion < 1 {
			c.uncounted++
		}
		if ev.Kind != measure.KindTool {
			c.said++
		}
	}
	c.began = c.began || ev.Bytes > 0 || e.completion > 0 || len(e.finish) > 0
	c.doubts.see(e, c)
	if e.index == 0 { // another choice is another answer
		c.text = append(c.text, e.text...)
		c.reasoning = append(c.reasoning, e.reasoning...)
		c.tools = append(c.tools, e.tools...)
		if len(e.finish) > 0 {
			c.s.Finish = string(e.finish)
		}
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

// bytes is how much text has come.
func (c *collector) bytes() int { return len(c.text) + len(c.reasoning) + len(c.tools) }

// size says how much of an answer has come.
func (c *collector) size() string {
	return fmt.Sprintf("%d bytes of text where %d tokens were asked for", c.bytes(), c.s.RequestedOutput)
}

// sample returns the sample as far as it came.
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
		var status *StatusError
		if errors.As(err, &status) {
			s.Status = status.Status
		}
	}
	return s
}
