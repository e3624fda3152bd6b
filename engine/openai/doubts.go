package openai

import (
	"fmt"
	"strings"
)

// doubts are contradictions in an answer that can be read nevertheless. They
// stop nothing here, since what they mean for a measurement is not the client's
// to say, and they are never silent: the sample carries them.
type doubts struct {
	// most is the highest count of output tokens, prompt the last of the prompt's.
	most, prompt int
	// last is the last count of an event with a choice.
	last               int
	fell, moved, final string
	choices            bool
	// after and ends count the events after the end marker, and further markers.
	after, ends int
	// again is how often the request went out again.
	again int
}

// see looks at one event, of which the log of c already knows.
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
		d.final = fmt.Sprintf("%d output tokens were counted at the end, and %d with the last event before", e.completion, d.last)
	}
	if e.prompt > 0 {
		if d.prompt > 0 && e.prompt != d.prompt && d.moved == "" {
			d.moved = fmt.Sprintf("the count of prompt tokens changes from %d to %d at event %d", d.prompt, e.prompt, c.log.n)
		}
		d.prompt = e.prompt
	}
	d.choices = d.choices || e.several || e.index > 0
}

// said are the doubts about the answer as it is now, in words, none where there
// are none.
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
	add(s.OutputTokens >= 0 && s.OutputTokens < c.said, "%d output tokens were counted, and text came in %d events", s.OutputTokens, c.said)
	add(s.RequestedOutput > 0 && s.OutputTokens > s.RequestedOutput, "%d output tokens were counted, and at most %d were asked for", s.OutputTokens, s.RequestedOutput)
	add(s.PromptTokens >= 0 && s.CachedTokens > s.PromptTokens, "%d cached tokens were counted in a prompt of %d", s.CachedTokens, s.PromptTokens)
	add(d.choices, "there was more than one choice, and only the first is kept as text")
	add(d.again == 1, "the request was sent again, because the server closed the connection before it answered")
	add(d.again > 1, "the request was sent again %d times, because the server closed the connection before it answered", d.again)
	add(d.ends > 0, "[DONE] came %d times", d.ends+1)
	add(d.after > 0, "%d events came after [DONE] and were not measured", d.after)
	return strings.Join(all, "; ")
}
