package embedded

import (
	"strings"
	"testing"
)

const whatCapital = `{"messages":[{"role":"user","content":"What is the capital of France?"}],"temperature":0`

// The first tokens of a chat answer go out as reasoning, all else stays as it
// is, also where a step gives tokens of both.
func TestReasoning(t *testing.T) {
	for _, draft := range []int{0, 4} {
		url, _ := testServer(t, func(c *Config) { c.Reasoning, c.Speculation = 2, draft })
		e := whole(t, url+"/v1/chat/completions", whatCapital+`}`)
		m := e.Choices[0].Message
		if m.Reasoning == nil || *m.Reasoning+*m.Content != "Paris, of course." || *m.Reasoning != "Paris," {
			t.Errorf("answered %+v", m)
		}
		if e.Usage.CompletionDetails == nil || e.Usage.CompletionDetails.Reasoning != 2 || e.Usage.Completion < 4 {
			t.Errorf("usage %+v", e.Usage)
		}
		events, _ := streamEvents(t, url+"/v1/chat/completions", whatCapital+`,"stream":true,"stream_options":{"continuous_usage_stats":true}}`)
		var reasoning, text strings.Builder
		for _, e := range events[1:] {
			d := e.Choices[0].Delta
			if d.Reasoning != nil {
				reasoning.WriteString(*d.Reasoning)
			}
			if d.Content != nil {
				text.WriteString(*d.Content)
			} else if d.Reasoning == nil {
				t.Errorf("an event has neither: %+v", e)
			}
			if e.Usage.CompletionDetails.Reasoning != min(2, e.Usage.Completion) {
				t.Errorf("usage %+v", e.Usage)
			}
		}
		if reasoning.String() != "Paris," || text.String() != " of course." {
			t.Errorf("streamed %q and %q", reasoning.String(), text.String())
		}
		completion := whole(t, url+"/v1/completions", paris)
		if !strings.HasPrefix(*completion.Choices[0].Text, " Paris,") || completion.Usage.CompletionDetails != nil {
			t.Errorf("a completion reasons: %q, %+v", *completion.Choices[0].Text, completion.Usage)
		}
	}
	// An answer may end while it reasons.
	url, _ := testServer(t, func(c *Config) { c.Reasoning = 100 })
	m := whole(t, url+"/v1/chat/completions", whatCapital+`}`).Choices[0].Message
	if *m.Reasoning != "Paris, of course." || *m.Content != "" {
		t.Errorf("answered %q and %q", *m.Reasoning, *m.Content)
	}
}
