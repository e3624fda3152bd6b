package verdict

import (
	"fmt"
	"math"
	"strings"
)

// Brief is a rule by the number that decided it, for one line of a terminal or of a page:
// "decode +34% (≥ +10%, at least +31%)". A rule without such a number is its name and its
// first reason.
func (r Rule) Brief() string {
	c := r.deciding()
	if c == nil {
		if len(r.Reasons) == 0 {
			return r.Name
		}
		return r.Name + ": " + Brief(r.Reasons[0])
	}
	t := c.Test
	op, edge, side := "≥", t.Low, "at least"
	if !t.More {
		op, edge, side = "≤", t.High, "at most"
	}
	switch {
	case c.Verdict == Fail && t.More:
		edge, side = t.High, "at most"
	case c.Verdict == Fail:
		edge, side = t.Low, "at least"
	case c.Verdict != Pass:
		edge, side = nil, ""
	}
	unit := t.OwnUnit()
	for digits := range 8 {
		is, wanted := short(*t.Estimate, unit, digits, math.Round), bare(Digits(t.Threshold, unit, digits))
		bounds := "undecided"
		if t.Bounded() && edge == nil {
			bounds = "between " + short(*t.Low, unit, digits, math.Floor) + " and " + short(*t.High, unit, digits, math.Ceil)
		}
		clear := *t.Estimate == t.Threshold || short(t.Threshold, unit, digits, math.Round) != is
		if edge != nil {
			toward := math.Floor
			if side == "at most" {
				toward = math.Ceil
			}
			bound := short(*edge, unit, digits, toward)
			bounds = side + " " + bound
		}
		if clear || digits == 7 {
			return fmt.Sprintf("%s %s (%s %s, %s)", r.Name, is, op, wanted, bounds)
		}
	}
	return r.Name
}

// deciding is the comparison with an estimate that has the rule's own verdict.
func (r Rule) deciding() *Comparison {
	for i, c := range r.Comparisons {
		if c.Verdict == r.Verdict && c.Test != nil && c.Test.Estimate != nil && !math.IsNaN(*c.Test.Estimate) {
			return &r.Comparisons[i]
		}
	}
	return nil
}

// Faster is a relative change for a line that people read: "+34%", "-2.5%", and above
// +300% how many times as much it is, "12×".
func Faster(x float64) string { return short(x, "ratio", 0, math.Round) }

// short is a number with three digits and so many more, rounded by toward: a bound is
// rounded away from what it claims.
func short(x float64, unit string, more int, toward func(float64) float64) string {
	round := func(x float64, decimals int) float64 {
		scale := math.Pow10(decimals)
		y := toward(x*scale) / scale
		if near := math.Round(x*scale) / scale; math.Abs(near-x) <= 1e-9*math.Abs(x) {
			y = near // 0.1 times 100 is not quite 10
		}
		return y
	}
	switch a := math.Abs(x); {
	case unit == "ratio" && x > 3:
		decimals := more
		if x < 9 {
			decimals++
		}
		return fmt.Sprintf("%.*f×", decimals, round(1+x, decimals))
	case unit == "ratio":
		decimals := more
		if a < 0.0995 {
			decimals++
		}
		return strings.Replace(fmt.Sprintf("%+.*f%%", decimals, round(100*x, decimals)), "-0%", "0%", 1)
	case unit == "GB" && a < 0.0995:
		return short(1000*x, "MB", more, toward)
	case x == 0 || unit == "duration" || unit == "p":
		return Number(x, unit)
	default:
		decimals := max(0, 2+more-int(math.Floor(math.Log10(a))))
		if unit == "MB" {
			decimals = min(decimals, 1+more)
		}
		return Number(round(x, decimals), unit)
	}
}
