package gates

import (
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
)

// TestWhyNot: of a launch on record it is said why it has no number, and where to
// look; the launches of a plan's test are numbers alone.
func TestWhyNot(t *testing.T) {
	again := measure.Summary{Unit: "count", N: 4, Requests: 4, Stats: map[string]float64{"min": 1, "max": 2, "median": 1}}
	tokens := measure.Summary{Unit: "tokens", N: 4, Requests: 4, Stats: map[string]float64{"min": 64, "max": 64, "median": 64}}
	for _, c := range []struct {
		recorded   bool
		rule, want string
	}{
		{false, "chat.pp >= 1", "chat.pp: launch f.2 has no chat.pp"},
		{true, "chat.pp >= 1", "chat.pp: launch f.2 has no chat.pp: each of its 4 requests was sent again, so that nobody knows when its prefill began (mxflow show f.2)"},
		{true, "engine.first_request_s <= 1", "engine.first_request_s: launch f.1 has no engine.first_request_s: it takes a server that became ready and answered a request for one token (mxflow show f.1)"},
	} {
		got := decided(compiled(t, c.rule), with(func(f *Feature) {
			for i := range f.Candidate.Launches {
				l := &f.Candidate.Launches[i]
				l.Recorded = c.recorded
				l.Metrics["chat.retries"], l.Metrics["chat.prompt_tokens"] = again, tokens
				if i != 1 {
					l.Metrics["chat.pp"] = summary(1000, "tok/s")
				}
			}
		}))
		if len(got.Reasons) != 1 || tell.Line(got.Reasons[0]) != c.want {
			t.Errorf("%s: %q", c.rule, tell.Lines(got.Reasons))
		}
	}
}
