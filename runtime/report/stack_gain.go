package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Gain is one number by which a feature was accepted.
type Gain struct {
	// Criterion is the rule, What the address that it read: "chat.tg.gain".
	Criterion string `json:"criterion"`
	What      string `json:"what"`
	// Value is it, and Low and High what the decision's test bounds it by: where
	// more is wanted, Low is the largest claim that would have passed, where less
	// is, High. Ratio says that all three are relative.
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Ratio bool     `json:"ratio,omitempty"`
	// Launches are of the candidate and of what it was compared with, as far as Value
	// is of them: up to the look that decided.
	Launches int `json:"launches,omitempty"`
	Against  int `json:"against,omitempty"`
}

// gainsOf are the numbers of the criteria that decided.
func gainsOf(d *ledger.Decision) []Gain {
	gains := []Gain{}
	for _, r := range d.Rules {
		if !r.Decides {
			continue
		}
		for _, in := range r.Inputs {
			if in.Value == nil || in.N == 0 || counts(in.Path) {
				continue
			}
			g := Gain{
				Criterion: r.Name, What: in.Path, Value: *in.Value, Low: in.Low, High: in.High, Unit: in.Unit,
				Ratio: relative(in.Path), Launches: in.N, Against: in.BaseN,
			}
			if t := testOf(r, in); t != nil {
				g.tested(t)
			}
			gains = append(gains, g)
		}
	}
	return gains
}

// tested takes the number and its bounds from one look: launches behind that which
// decided were made for other comparisons.
func (g *Gain) tested(t *verdict.Test) {
	g.Low, g.High = t.Low, t.High
	g.Launches, g.Against = len(t.Values), len(t.Base)
	if len(t.Looks) == 0 || t.Estimate == nil {
		return
	}
	g.Value = *t.Estimate
	last := t.Looks[len(t.Looks)-1].N
	g.Launches, g.Against = min(g.Launches, last), min(g.Against, last)
}

// testOf is how the comparison was decided that read an input: the one of the
// same launches, since a path is written in several ways; of several the one in
// which it stands as it is, since a gain and a change have one another's signs. One
// that is tested as a part of the other arm bounds no difference, and one of a single
// arm no comparison.
func testOf(r ledger.Rule, in ledger.Input) *verdict.Test {
	stands := func(c ledger.Comparison) int {
		if strings.Contains(c.Text, in.Path) {
			return 0
		}
		return 1
	}
	comparisons := slices.Clone(r.Comparisons)
	slices.SortStableFunc(comparisons, func(a, b ledger.Comparison) int { return stands(a) - stands(b) })
	for _, c := range comparisons {
		t := c.Test
		if t == nil || parts(t) != relative(in.Path) || len(t.Base) == 0 && len(in.BasePerLaunch) > 0 {
			continue
		}
		if len(t.Values) == 0 || len(in.PerLaunch) < len(t.Values) || len(in.BasePerLaunch) < len(t.Base) {
			continue
		}
		if slices.Equal(t.Values, in.PerLaunch[:len(t.Values)]) && slices.Equal(t.Base, in.BasePerLaunch[:len(t.Base)]) {
			return t
		}
	}
	return nil
}

// counts tells how many launches or requests there were from what they measured.
func counts(path string) bool {
	return strings.HasSuffix(path, ".n") || strings.HasSuffix(path, ".n_requests")
}

// parts reports whether a test's numbers are parts of the other arm.
func parts(t *verdict.Test) bool {
	return t.Form == verdict.Ratio || t.Form == verdict.Range && t.Relative()
}

func relative(path string) bool {
	return strings.HasSuffix(path, ".gain") || strings.HasSuffix(path, ".change")
}

// String is "chat.tg.gain +38.2 % (+31.0 % to +45.8 %)".
func (g Gain) String() string { return g.What + " " + g.bounded() }

// bounded is the number with what it is bounded by.
func (g Gain) bounded() string {
	show := func(x float64) string {
		switch {
		case g.Ratio:
			return tell.Percent(x, 1)
		case g.Unit == "":
			return Digits(x)
		}
		return Digits(x) + " " + g.Unit
	}
	text := show(g.Value)
	switch {
	case g.Low != nil && g.High != nil:
		text += fmt.Sprintf(" (%s to %s)", show(*g.Low), show(*g.High))
	case g.Low != nil:
		text += fmt.Sprintf(" (at least %s)", show(*g.Low))
	case g.High != nil:
		text += fmt.Sprintf(" (at most %s)", show(*g.High))
	}
	return text
}
