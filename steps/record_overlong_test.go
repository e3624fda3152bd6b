package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans"
)

// A server that says it sent more than it was asked for is not fast by that.
func TestOverlong(t *testing.T) {
	for name, c := range map[string]struct {
		sample measure.Sample
		want   string
	}{
		"as asked":                {measure.Sample{RequestedOutput: 8, OutputTokens: 8}, ""},
		"with the end of text":    {measure.Sample{RequestedOutput: 8, OutputTokens: 9}, ""},
		"a last draft":            {measure.Sample{RequestedOutput: 128, OutputTokens: 134}, ""},
		"shorter":                 {measure.Sample{RequestedOutput: 8, OutputTokens: 3}, ""},
		"not counted":             {measure.Sample{RequestedOutput: 8, OutputTokens: -1}, ""},
		"nothing was asked for":   {measure.Sample{OutputTokens: 80}, ""},
		"ten times as many":       {measure.Sample{RequestedOutput: 8, OutputTokens: 80}, "such as 80 where 8 were"},
		"a warm-up":               {measure.Sample{RequestedOutput: 8, OutputTokens: 80, Warmup: true}, ""},
		"twice as many, at first": {measure.Sample{RequestedOutput: 8, OutputTokens: 8, Events: []measure.Event{{Tokens: 16}, {Tokens: 8}}}, "such as 16 where 8 were"},
	} {
		r := &recording{taken: &Taken{}}
		r.overlong(sentCell{w: &plans.Workload{}, cell: plans.Cell{Address: "chat"}, samples: []measure.Sample{c.sample}})
		if got := tell.Joined(r.taken.Invalid); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: invalid %q, want %q", name, got, c.want)
		}
	}
}

// A prompt that nobody counted is not said to have no tokens.
func TestLengthsOfUncountedPrompts(t *testing.T) {
	r := &recording{taken: &Taken{}}
	r.lengths(sentCell{w: &plans.Workload{}, cell: plans.Cell{Address: "chat", Prompt: 32}, samples: []measure.Sample{{RequestedPrompt: 32, PromptTokens: -1}}})
	if got := tell.Joined(r.taken.Notes); !strings.Contains(got, "not known of 1 of 1") {
		t.Errorf("notes %q", got)
	}
}
