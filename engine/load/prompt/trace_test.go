package prompt

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/traffic"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// Texts are sent as recorded, sessions as conversations, and no warm-up begins as a request does.
func TestTextsAndTurnsOfATrace(t *testing.T) {
	const rows = `{"at": 0, "text": "Why is the sky blue?", "output": 3}
{"at": 1, "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
 {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}], "output": 4}
{"at": 2, "prompt": 60, "output": 5, "session": "a"}
{"after": 1.5, "prompt": 50, "session": "a"}`
	trace := must.Get(traffic.Read("f", []byte(strings.ReplaceAll(rows, "},\n", "},")), "."))(t)
	part := must.Get(trace.Part(traffic.Select{}))(t)
	f := &fake{count: tokenizers["pieces of four"]}
	spec := Spec{Cell: "chat", API: openai.Chat, CountTemplate: true, Trace: part, Warmup: 1, Requests: 3}
	p := must.Get(Build(t.Context(), f, spec))(t)
	text, messages, talk := p.Measured[0], p.Measured[1], p.Measured[2]
	if text.Text != "Why is the sky blue?" || text.Output != 3 || text.Tokens != 0 || text.At != 0 {
		t.Errorf("%+v", text)
	}
	if messages.System != "s" || len(messages.Before) != 2 || messages.Text != "c" || messages.At != time.Second {
		t.Errorf("%+v", messages)
	}
	next := talk.Next
	if talk.Tokens != 60 || talk.At != 2*time.Second || next == nil || next.Tokens != 50 || next.Alone ||
		next.Output != 0 || next.After != 1500*time.Millisecond || next.Next != nil {
		t.Errorf("%+v\n%+v", talk, next)
	}
	if got := p.Warmup[0]; got.Text == text.Text || !strings.HasSuffix(got.Text, text.Text) || got.At != 0 {
		t.Errorf("%+v", got)
	}
	// Texts alone need no tokenizer.
	part = must.Get(trace.Part(traffic.Select{Duration: 2 * time.Second}))(t)
	spec.Trace, spec.Requests = part, 2
	if p := must.Get(Build(t.Context(), nil, spec))(t); p.Method != Given || p.Measured[1].Text != "c" {
		t.Errorf("%+v", p)
	}
}
