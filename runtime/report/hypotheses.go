package report

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/store"
)

// Claim is a hypothesis beside what the criteria say.
type Claim struct {
	Feature  string `json:"feature"`
	Metric   string `json:"metric"`
	Expect   string `json:"expect"`
	Because  string `json:"because,omitempty"`
	Measured string `json:"measured,omitempty"`
	// Outcome is "confirmed", "refuted" or "open".
	Outcome string `json:"outcome"`
	// PostHoc says that the claim was made after its measurement.
	PostHoc bool            `json:"post_hoc,omitempty"`
	Verdict verdict.Verdict `json:"verdict"`
}

// Claims are the hypotheses of the features that stand decided, in the plan's
// order; never nil. What nobody tested is open.
func Claims(st *store.Store) []Claim {
	all := []Claim{}
	for _, d := range inPlanOrder(st, Standing(st)) {
		h := d.Hypothesis
		if d.Kind != "feature" || h == nil {
			continue
		}
		c := Claim{
			Feature: d.Feature, Metric: h.Metric, Expect: h.Expect, Because: h.Because, Measured: h.Measured,
			Outcome: h.Outcome, PostHoc: h.PostHoc, Verdict: d.Verdict,
		}
		if c.Outcome == "" {
			c.Outcome = "open"
		}
		all = append(all, c)
	}
	return all
}

// Words is the outcome, marked where the claim came after the measurement: then it
// was fitted to what was seen, and confirms nothing.
func (c Claim) Words() string {
	if c.PostHoc {
		return c.Outcome + " (POST HOC)"
	}
	return c.Outcome
}

// ClaimTable has a row for each hypothesis.
func ClaimTable(claims []Claim) Table {
	t := Table{Head: []string{"Feature", "Claim", "Measured", "Hypothesis", "Criteria"}}
	for _, c := range claims {
		measured := c.Measured
		if measured == "" {
			measured = "–"
		}
		t.Rows = append(t.Rows, []string{c.Feature, c.Metric + " " + c.Expect, measured, c.Words(), string(c.Verdict)})
	}
	return t
}

// hypotheses are the claims made before measuring, together.
func (p *page) hypotheses() {
	claims := Claims(p.st)
	if len(claims) == 0 {
		return
	}
	p.line("## Hypotheses")
	p.line("")
	p.table(ClaimTable(claims))
	for _, c := range claims {
		if c.PostHoc {
			p.line("POST HOC: the claim was made, or changed, after its launches were measured. It fits what was seen, and predicts nothing.")
			p.line("")
			break
		}
	}
}

func (p *page) table(t Table) {
	p.head(t.Head...)
	for _, row := range t.Rows {
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		p.row(row...)
	}
	p.line("")
}
