package record

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// Silence about cached tokens is said, where the engine could be made to speak.
func TestUnknownCachesAreNoted(t *testing.T) {
	for _, c := range []struct {
		flag   string
		cached int
		want   string
	}{
		{"--report", -1, "unknown for 1 of 1 requests of "},
		{"", -1, ""},
		{"--report", 0, ""},
		{"--report", 90, "prompts were partly answered from a cache"},
	} {
		r := &recording{Subject: Subject{Kind: kinds.Kind{Ask: kinds.Ask{CachedTokens: c.flag}}}, taken: &Measurement{}}
		sample := measure.Sample{PromptTokens: 100, OutputTokens: 1, CachedTokens: c.cached, TokenSource: measure.SourceUsage, Text: "one two three"}
		r.checkCache(sentCell{w: &plans.Workload{}, cell: plans.Cell{Address: "chat", Prompt: 100}, samples: []measure.Sample{sample}})
		notes := verdict.Semicolons(append(r.taken.Notes, r.taken.Invalid...))
		if c.want == "" && strings.Contains(notes, "cache") || !strings.Contains(notes, c.want) {
			t.Errorf("%q, %d cached: %q", c.flag, c.cached, notes)
		}
	}
}
