package report

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestClaimShowsItsTest: a claim is open by the bounds of its test, so these are
// shown and not the plain interval of all launches, which lies beyond the claim.
func TestClaimShowsItsTest(t *testing.T) {
	estimate, low, high := 0.098, 0.007, 0.148
	h := &ledger.Hypothesis{
		Metric: "chat.tg", Expect: "+9%", Measured: verdict.Say("broken", "{error}",
			verdict.Text("error", "+10.0%, n = 8 against 8 launches")), Outcome: "open",
		Test: &ledger.Rule{Comparisons: []ledger.Comparison{{Test: &verdict.Test{
			Form: verdict.Ratio, Against: "baseline", Estimate: &estimate, Low: &low, High: &high, Looks: []verdict.Look{{N: 3}},
		}}}},
	}
	c, _ := ClaimOf(&ledger.Decision{Hypothesis: h})
	if want := "+9.8% (bounds +0.7% to +14.8%, 3 launches per arm)"; c.seen() != want {
		t.Errorf("%q, want %q", c.seen(), want)
	}
	h.Test = nil
	if c, _ = ClaimOf(&ledger.Decision{Hypothesis: h}); c.seen() != h.Measured.String() {
		t.Errorf("without a test: %q", c.seen())
	}
}
