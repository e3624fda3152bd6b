package main

import (
	"math"
	"regexp"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// scale turns numbers on the scale of a test, where more is what the rule wants,
// into the rule's own: per cent of a gain, tokens per second.
type scale struct {
	test *verdict.Test
	// saved is set for a gain of a metric of which less is better: the part of it
	// that was saved.
	saved bool
	// relative is set for a range whose numbers are parts of the other arm.
	relative bool
}

// relation is how a rule asks for parts of the other arm, of a record that does not
// say so.
var relation = regexp.MustCompile(`\.(gain|change)\b`)

func relative(c verdict.Comparison) bool {
	return c.Test.Form == verdict.Range && c.Test.Against != "" && (c.Test.Relative || relation.MatchString(c.Text))
}

func scaleOf(t *verdict.Test) scale {
	s := scale{test: t}
	if t.Form != verdict.Ratio {
		return s
	}
	// What a test recorded in both numbers tells which of the two relations it is.
	place, own := t.Theta, t.Threshold
	if n := len(t.Looks); n > 0 && t.Estimate != nil {
		place, own = t.Looks[n-1].Estimate, *t.Estimate
	}
	saved := scale{test: t, saved: true}
	if math.Abs(saved.own(place)-own) < math.Abs(s.own(place)-own) {
		return saved
	}
	return s
}

// own is a number on the scale of the test in the rule's own.
func (s scale) own(x float64) float64 {
	if !s.test.More {
		x = -x
	}
	switch {
	case s.test.Form == verdict.Ratio && s.saved:
		return -math.Expm1(-x)
	case s.test.Form == verdict.Ratio:
		return math.Expm1(x)
	case s.test.Form == verdict.LogLevel:
		return math.Exp(x)
	}
	return x
}

// text writes one of the rule's own numbers with its unit.
func (s scale) text(x float64) string {
	if s.relative && !math.IsInf(x, 0) {
		return verdict.Percent(x, 1)
	}
	return ownText(s.test, x)
}

// ownText writes a number as the rule has it: ratios in per cent with a sign.
func ownText(t *verdict.Test, x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "without bound"
	case math.IsInf(x, -1):
		return "without bound below"
	case t.Form == verdict.Ratio:
		return verdict.Percent(x, 1)
	}
	text := report.Digits(x)
	if t.Form == verdict.Difference && x > 0 {
		text = "+" + text
	}
	if t.Unit == "share" {
		return report.Digits(100*x) + " %"
	}
	return strings.TrimSpace(text + " " + t.Unit)
}
