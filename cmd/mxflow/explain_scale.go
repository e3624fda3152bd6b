package main

import (
	"math"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// scale turns numbers on the scale of a test, where more is what the rule wants,
// into the rule's own: per cent of a gain, tokens per second.
type scale struct{ test *verdict.Test }

// own is a number on the scale of the test in the rule's own.
func (s scale) own(x float64) float64 {
	if !s.test.More {
		x = -x
	}
	switch {
	case s.test.Form == verdict.Ratio && s.test.Saved:
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
	if s.test.Form == verdict.Range && s.test.Relative() && !math.IsInf(x, 0) {
		return tell.Percent(x, 1)
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
		return tell.Percent(x, 1)
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
