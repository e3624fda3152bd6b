package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Claim is a hypothesis, without the rule that tested it, beside the result of the criteria.
type Claim struct {
	Feature string `json:"feature"`
	ledger.Hypothesis
	Verdict verdict.Verdict `json:"verdict"`
}

// Expected is a hypothesis and what came of it, open until it was tested, marked if it came after the
// measurement: then it was fitted to the data, and confirms nothing.
func Expected(h *ledger.Hypothesis) string {
	text := fmt.Sprintf("expected %s %s: %s", h.Metric, h.Expect, cmp.Or(h.Outcome, "open"))
	if h.PostHoc {
		text += " (POST HOC)"
	}
	return text
}

// ExpectedBecause is Expected in sentences, with why, and the number that decided: not the plain mean of
// all launches with its 95% interval, which may be beyond a claim that is open.
func ExpectedBecause(h *ledger.Hypothesis) string {
	text := strings.Replace(Expected(h), " (POST HOC)",
		", POST HOC: claimed after its launches were measured, so they prove nothing about it", 1)
	measured := verdict.Behind("Measured: ", verdict.Stopped(h.Measured))
	if h.Test != nil && h.Test.Deciding() != nil {
		test := *h.Test
		test.Name = "Measured"
		measured = verdict.FullStop(test.Brief())
	}
	return verdict.Capital(verdict.FullStop(text)) + verdict.Behind(" ", measured) +
		verdict.Behind(" Because ", verdict.FullStop(h.Because))
}
