package report

import (
	"cmp"
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Claim is a hypothesis, without the rule that tested it, beside the result of the criteria.
type Claim struct {
	Feature string `json:"feature"`
	ledger.Hypothesis
	// Tested is the estimate of the deciding look and the test's bounds; empty if no test
	// could be made.
	Tested  string          `json:"tested,omitempty"`
	Verdict verdict.Verdict `json:"verdict"`
}

// ClaimOf is a feature's hypothesis, if it has one, open until it was tested.
func ClaimOf(d *ledger.Decision) (c Claim, has bool) {
	h := d.Hypothesis
	if h == nil {
		return c, false
	}
	c = Claim{Feature: d.Feature, Hypothesis: *h, Verdict: d.Verdict}
	c.Outcome, c.Test = cmp.Or(h.Outcome, "open"), nil
	if h.Test == nil || len(h.Test.Comparisons) != 1 {
		return c, true
	}
	// The number that decided, and not the plain mean of all launches with its 95% interval,
	// which may be beyond a claim that is open.
	t, arm := h.Test.Comparisons[0].Test, ""
	if !t.Bounded() || t.N() == 0 {
		return c, true
	}
	if t.Against != "" {
		arm = " per arm"
	}
	low, high := verdict.FormatDistinct(*t.Low, *t.High, t.OwnUnit())
	c.Tested = fmt.Sprintf("%s (bounds %s to %s, %s%s)", verdict.Number(*t.Estimate, t.OwnUnit()), low, high,
		verdict.Launches(t.N()), arm)
	return c, true
}

// seen is the measured result to show: the number that decided, if there is one, as in
// "+9.8% (bounds +0.7% to +14.8%, 3 launches per arm)".
func (c Claim) seen() string { return cmp.Or(c.Tested, c.Measured.String(), "–") }

// Words is the outcome, marked if the claim came after the measurement: then it was
// fitted to the data, and confirms nothing.
func (c Claim) Words() string {
	if c.PostHoc {
		return c.Outcome + " (POST HOC)"
	}
	return c.Outcome
}
