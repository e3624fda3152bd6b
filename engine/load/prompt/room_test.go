package prompt

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/openai"
)

// Prompts that no memory holds are refused before the engine is asked anything.
func TestPromptsWithoutRoom(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"one that is too long": {Spec{Tokens: 100_000_000, Requests: 1}, "a prompt of 100000000 tokens"},
		"its context":          {Spec{Tokens: 8, Depth: 100_000_000, Requests: 1}, "a prompt of 100000008 tokens"},
		"its system prompt":    {Spec{API: openai.Chat, Tokens: 8, SystemTokens: 50_000_000, Requests: 1}, "a prompt of 50000008 tokens"},
		"its turns":            {Spec{API: openai.Chat, Tokens: 5_000_000, Turns: 9, Requests: 1}, "a prompt of 25000000 tokens"},
		"drawn":                {Spec{Lengths: &Lengths{Distribution: Normal, Mean: 90_000_000}, Requests: 1}, "a prompt of 90000000 tokens"},
		"of a trace":           {Spec{Data: &Dataset{Rows: []Row{{Input: 90_000_000}}}, Requests: 1}, "a prompt of 90000000 tokens"},
		"all of them":          {Spec{Tokens: 1000, Requests: 1_000_000}, "the 1000000 prompts and 0 for warm-up"},
		"with the warm-ups":    {Spec{Tokens: 10_000_000, Requests: 30, Warmup: 30}, "the 30 prompts and 30 for warm-up"},
		"messages":             {Spec{API: openai.Chat, Tokens: 1, Turns: 1000, Requests: 1_000_000}, "messages"},
		"as many as are usual": {Spec{Tokens: 131_072, Requests: 1000, Warmup: 100}, ""},
	} {
		err := c.spec.room()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if c.want == "" {
			continue
		}
		c.spec.Cell = "chat"
		if _, err := Build(t.Context(), nil, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: built with %v", name, err)
		}
	}
}
