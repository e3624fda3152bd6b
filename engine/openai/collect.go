package openai

import (
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// collector gathers the events of one answer into a sample.
type collector struct {
	s               measure.Sample
	text, reasoning []byte
	// textEvents counts events with text; uncounted is how many of them came
	// without a count of the server's.
	textEvents, uncounted int
	done                  bool
}

// add takes in one event that arrived at the given time since the send.
func (c *collector) add(e *event, at time.Duration) {
	ev := measure.Event{At: at, Tokens: e.completion, Bytes: len(e.text) + len(e.reasoning)}
	switch {
	case e.done:
		ev.Kind, c.done = measure.KindDone, true
	case len(e.text) > 0:
		ev.Kind = measure.KindText
	case len(e.reasoning) > 0:
		ev.Kind = measure.KindReasoning
	case e.hasUsage && !e.hasChoice:
		ev.Kind = measure.KindUsage
	default:
		ev.Kind = measure.KindOther
	}
	c.s.Events = append(c.s.Events, ev)
	c.text = append(c.text, e.text...)
	c.reasoning = append(c.reasoning, e.reasoning...)
	if ev.Bytes > 0 {
		c.textEvents++
		if e.completion < 1 {
			c.uncounted++
		}
	}
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

// size says how much of an answer has come.
func (c *collector) size() string {
	return fmt.Sprintf("%d bytes of text where %d tokens were asked for", len(c.text)+len(c.reasoning), c.s.RequestedOutput)
}

// sample returns the sample as far as it came.
func (c *collector) sample(err error) measure.Sample {
	s := c.s
	s.Text, s.Reasoning = string(c.text), string(c.reasoning)
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
	}
	return s
}
