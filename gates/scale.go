package gates

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// scale maps a claim's number to the scale of its test, where more is what the rule
// wants.
type scale struct {
	// logs is set if the test is made on logs.
	logs bool
	// sign turns values so that more is what the rule wants.
	sign float64
	// theta is the claim's threshold on this scale.
	theta float64
	// decreasing is set if the claim's own number falls as the scale rises.
	decreasing bool
	// number maps a point on the scale back to the claim's own number.
	number func(float64) float64
}

// scaleOf is the scale of a claim that a t-test decides. It returns an error if the
// threshold cannot be reached, such as a change of −100%, or no test has this form.
func scaleOf(c *plans.Compare) (scale, error) {
	s := scale{sign: 1, theta: c.Threshold, number: func(y float64) float64 { return y }}
	switch {
	case c.Form == verdict.Ratio && isGainOfLowerBetter(c.Metric):
		// Candidate over base is 1 − gain: its logs, turned.
		s.logs, s.sign, s.theta = true, -1, -math.Log1p(-c.Threshold)
		s.number = func(y float64) float64 { return -math.Expm1(-y) }
	case c.Form == verdict.Ratio && c.Metric.Ratio():
		s.logs, s.theta, s.number = true, math.Log1p(c.Threshold), math.Expm1
	case c.Form == verdict.LogLevel:
		s.logs, s.theta, s.number = true, math.Log(c.Threshold), math.Exp
	case c.Form != verdict.Level && c.Form != verdict.Difference:
		s.theta = math.NaN()
	}
	if math.IsNaN(s.theta) || math.IsInf(s.theta, 0) {
		return s, fault(verdict.Say("undecidable.out_of_reach",
			"{subject} can never be {limit}, so this comparison decides nothing",
			verdict.Num("limit", c.Threshold, "")).On(c.Metric.Path))
	}
	if !c.AtLeast {
		up := s.number
		s.decreasing = true
		s.sign, s.theta, s.number = -s.sign, -s.theta, func(y float64) float64 { return up(-y) }
	}
	return s, nil
}

// values maps the values of launches with these IDs to the scale. It returns an error
// that names the first without a log.
func (s scale) values(launches []float64, ids []string) ([]float64, error) {
	out := make([]float64, len(launches))
	for i, v := range launches {
		if s.logs {
			if !(v > 0) {
				return nil, fault(verdict.New(code.NotAboveZero, verdict.Num("value", v, "")).On(ids[i]))
			}
			v = math.Log(v)
		}
		out[i] = s.sign * v
	}
	return out, nil
}

// gap is how far apart on the scale two speeds are that are so far apart in logs.
func (s scale) gap(p pairs, logs float64) (most float64) {
	if s.logs {
		return logs
	}
	for _, arm := range [][]float64{p.own, p.base} {
		if len(arm) > 0 { // the first, as later ones must not change an earlier look
			most = max(most, math.Abs(arm[0])*math.Expm1(logs))
		}
	}
	return most
}

func (s scale) finite(y float64) *float64 {
	v := s.number(y)
	if math.IsInf(y, 0) || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// shareUnit is the catalogue's unit of parts of a whole, 0 to 1.
const shareUnit = "share"

// ticks are the standard deviations that the resolution of the measurement has on the scale
// of the test, as the first, the first two and so on of the pairs show it. In logs it weighs
// most where values are smallest.
func (s scale) ticks(in *plans.Input, unit string, p pairs) (ticks []float64) {
	var values []float64
	for i, own := range p.own {
		if values = append(values, own); i < len(p.base) {
			values = append(values, p.base[i])
		}
		tick := resolution(unit, wholeByName(in), values)
		if measure.OfCommand(in.Cell) {
			tick = max(tick, printed(unit, values))
		}
		if s.logs {
			tick /= slices.Min(values)
		}
		ticks = append(ticks, tick/math.Sqrt(12))
	}
	return ticks
}

// resolution is the smallest difference that a measurement of a unit shows around some
// values, in that unit: the spread of launches that all tie is not known any better.
// Events are timed in nanoseconds; drivers and engines round what they report. whole is
// set if measurements are whole numbers of the unit.
func resolution(unit string, whole bool, values []float64) float64 {
	switch unit {
	case "tokens", "count", "requests", "launches", "°C", "MHz":
		if whole {
			return 1
		}
		return 1e-3 // an average of these, as tokens per step
	case "GB":
		return 0.01
	case "W", "J":
		return 0.1
	case shareUnit:
		return 1e-3
	case "ms":
		return 1e-6
	}
	return 1e-9 * max(1, math.Abs(values[0]))
}

// wholeByName reports, from the metric, whether values of launches are whole numbers: a
// mean may be whole by chance.
func wholeByName(in *plans.Input) bool {
	scopes := []measure.Scope{measure.PerRequest, measure.PerCell}
	switch {
	case measure.OfCommand(in.Cell):
		return false // see printed
	case in.Cell == "":
		scopes = []measure.Scope{measure.PerLaunch}
	case in.Cell == string(measure.PerGPU), in.Cell == string(measure.PerHost):
		scopes = []measure.Scope{measure.Scope(in.Cell)}
	}
	switch in.Stat {
	case "mean", "std", "cv":
		return false
	}
	m, ok := measure.LookupIn(in.Metric, scopes...)
	return ok && m.Whole
}

// printed is the last decimal place of any of the values, which a program printed and
// rounded at will: 30 and 31 tokens/s may differ by anything from nothing to two. A share
// of 0 or 1 is written without decimals however precise, so it tells nothing: 0.
func printed(unit string, values []float64) float64 {
	ends := func(v float64) bool { return v == 0 || v == 1 }
	if unit == shareUnit && !slices.ContainsFunc(values, func(v float64) bool { return !ends(v) }) {
		return 0
	}
	places := 0
	for _, v := range values {
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if _, fraction, found := strings.Cut(text, "."); found {
			places = max(places, len(fraction))
		}
	}
	return math.Pow10(-places)
}
