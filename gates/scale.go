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

// scale is how a claim's number stands on the scale of its test, where more is
// what the rule wants.
type scale struct {
	// logs says that the test is made on logs.
	logs bool
	// sign turns values so that more is what the rule wants.
	sign float64
	// theta is the claim's threshold there.
	theta float64
	// falls says that the claim's own number falls where the scale rises.
	falls bool
	// number turns a place on the scale back into the claim's own number.
	number func(float64) float64
}

// scaleOf is the scale of a claim that a t-test decides. It returns an error
// where the threshold is no number that can be reached: a change of −100%.
func scaleOf(c *plans.Claim) (scale, error) {
	s := scale{sign: 1, theta: c.Threshold, number: func(y float64) float64 { return y }}
	switch c.Form {
	case verdict.Ratio:
		s.logs = true
		if saving(c.Input) {
			// Candidate over base is 1 − gain: its logs, turned.
			s.sign, s.theta = -1, -math.Log1p(-c.Threshold)
			s.number = func(y float64) float64 { return -math.Expm1(-y) }
		} else {
			s.theta, s.number = math.Log1p(c.Threshold), math.Expm1
		}
	case verdict.LogLevel:
		s.logs, s.theta, s.number = true, math.Log(c.Threshold), math.Exp
	}
	if math.IsNaN(s.theta) || math.IsInf(s.theta, 0) {
		return s, fault(verdict.New(code.OutOfReach, verdict.Num("limit", c.Threshold, "")).On(c.Input.Path))
	}
	if !c.More {
		up := s.number
		s.falls = true
		s.sign, s.theta, s.number = -s.sign, -s.theta, func(y float64) float64 { return up(-y) }
	}
	return s, nil
}

// values turns what the launches with these IDs gave. It returns an error that names
// the first of which there is no log.
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

// bounds are what a look would pass and fail at most, low before high; nil where
// there is none.
func (s scale) bounds(pass, fail float64) (low, high *float64) {
	low, high = s.finite(pass), s.finite(fail)
	if s.falls {
		low, high = high, low
	}
	return low, high
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

// resolution is what a measurement of a unit can tell apart around some values, in
// that unit: how launches are spread of which all tie is not known any better.
// Events are timed in nanoseconds; what drivers and engines say is rounded by
// them. whole says that what is measured are whole numbers of the unit.
func resolution(unit string, whole bool, values []float64) float64 {
	switch unit {
	case "tokens", "count", "requests", "launches", "°C", "MHz":
		if whole {
			return 1
		}
		return 1e-3 // an average of such, as tokens a step
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

// wholeByName says whether the values of launches are whole numbers by what the
// metric is: a mean of such may be whole by chance.
func wholeByName(in *plans.Input) bool {
	scopes := []measure.Scope{measure.PerRequest, measure.PerCell}
	switch {
	case measure.OfCommand(in.Cell):
		return false // printed tells
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

// printed is the last decimal place of any of the values, which a program printed
// and rounded as it saw fit: 30 and 31 tokens a second differ by anything from
// nothing to two. None of a share and all of it are written without decimals
// however fine it is known, so that they tell nothing: 0.
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
