package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// newCompare is a comparison of two sides, with the form in which it is decided; or why
// it proves nothing, or launches cannot decide it.
func newCompare(left *plans.Operand, op string, right *plans.Operand, negated bool) (*plans.Compare, *Error) {
	c := &plans.Compare{
		Text: left.Text + " " + op + " " + right.Text, Op: op, Left: *left, Right: *right,
		Negated: negated,
	}
	of := right.Type
	if list, ok := right.Constant.([]any); ok {
		of = plans.NumberInput
		if _, word := list[0].(string); word {
			of = plans.WordInput
		}
	}
	_, ordered := plans.Flipped[op]
	inputs := c.Inputs()
	// A plain number has the unit of the other side, and a share may be given in per cent.
	number, other := left, right
	if right.Constant != nil {
		number, other = right, left
	}
	sameUnit := number.Unit == "" || other.Unit == "" || number.Unit == other.Unit ||
		number.Constant != nil && other.Unit == "share"
	switch {
	case left.Type != of:
		return nil,
			Wrong("rule-type", "Cannot compare",
				"%s is a %s, but %s is a %s. Numbers and percentages have no quotes, words have them.", left.Text,
				left.Type, right.Text, right.Type)
	case left.Fixed() && right.Fixed():
		return nil,
			Wrong("rule-reads-nothing", "Comparison reads nothing",
				"%s has the same result whatever is measured. Compare a measured value, such as chat.tg.gain >= 10%%.",
				c.Text)
	case len(inputs) == 2 && inputs[0].Quantity() == inputs[1].Quantity():
		return nil,
			Wrong("rule-reads-nothing", "Compared with itself", "%s and %s are the same value.", left.Text, right.Text)
	case of != plans.NumberInput && ordered:
		return nil,
			Wrong("rule-type", "Words have no order", "%s is a %s: compare it with == or !=.", left.Text, left.Type)
	case of != plans.NumberInput && len(inputs) > 1:
		// Equal words prove nothing: two levels that both failed are equal.
		return nil,
			Wrong("comparison-proves-nothing", "Compare with a word",
				"%s compares two measured words, which also holds when both are bad. Compare each with the word that "+
					"you require.", c.Text)
	case of == plans.NumberInput && op == "!=":
		return nil, Wrong("comparison-proves-nothing", "Always different",
			"Two measurements are never exactly equal, so != almost always holds. Write < or >.")
	case !sameUnit:
		return nil, Wrong("unit-mismatch", "Units do not match", "%s compares %s with %s.", c.Text, unitWord(left),
			unitWord(right))
	}
	for _, o := range []*plans.Operand{&c.Left, &c.Right} {
		if o.Constant != nil {
			o.Unit = ""
		}
	}
	return c, decidable(c)
}

func unitWord(o *plans.Operand) string {
	if o.Unit == plans.RatioUnit {
		return "a ratio"
	}
	return o.Unit
}

// decidable works out how launches decide a comparison; an error says that they cannot.
func decidable(c *plans.Compare) *Error {
	var counted, overall, measured string
	for _, in := range c.Inputs() {
		switch {
		case !in.Exact():
			measured = in.Path
		case in.Kind == plans.InputMetric && in.Counts():
			overall = in.Path
		case in.Kind != plans.InputTarget:
			counted = in.Path
		}
	}
	_, ordered := plans.Flipped[c.Op]
	switch {
	case measured != "" && counted+overall != "":
		return Wrong("undecidable-comparison", "Count and measurement in one comparison",
			"%s is an exact count, %s varies from launch to launch: one comparison cannot be decided both ways. "+
				"Compare each with a number, and join the two with and.", counted+overall, measured)
	case counted != "" && overall != "":
		return Wrong("undecidable-comparison", "Per-launch and overall count in one comparison",
			"%s is counted per launch, %s over all launches. Compare each with a number, and join the two with and; "+
				"the share of failed requests is error_rate.", counted, overall)
	case measured != "" && !ordered:
		return Wrong("equality-of-measurements", "Equal to a measurement",
			"Two measurements are never exactly equal, so no number of launches can show that %s. Set a lower and an "+
				"upper bound, with >= and <=; a count, such as errors, may be equal to a number.", c.Text)
	}
	c.Form = verdict.Exact
	left, right, op := c.Left, c.Right, c.Op
	if left.Fixed() {
		left, right, op = right, left, plans.Mirrored(op)
	}
	in, factor, limit := left.Input, left.Factor, 0.0
	switch {
	case !ordered, measured == "" && !right.Fixed():
		return nil // the sides are compared as they are
	case right.Fixed():
		v, err := right.Value(func(target *plans.Input) any { return target.Number })
		if err != nil {
			return Wrong("rule-type", "Not a number", "%v.", err)
		}
		number, _ := v.(float64)
		limit = rounded(number / factor)
	default:
		base, times := right.Input, right.Factor
		if in.Relation == plans.Base {
			in, factor, base, times, op = base, times, in, factor, plans.Mirrored(op)
		}
		own, other := in.Quantity(), base.Quantity()
		other.Relation, other.Against = plans.Own, plans.Parent
		if in.Kind != plans.InputMetric || in.Relation != plans.Own || base.Relation != plans.Base || own != other {
			return Wrong("undecidable-comparison", "Different measurements compared",
				"%s compares %s and %s, but only the candidate and the base of one metric can be tested against each "+
					"other. Compare each with its own base, as in chat.tg.gain >= 5%%, or with a number.", c.Text,
				in.Path, base.Path)
		}
		// With the base of the same number: their difference, or the change.
		if ratio := rounded(times / factor); ratio == 1 && !in.Positive() && !in.OncePerLaunch() {
			in = related(in, base.Against, plans.Delta)
		} else {
			// A difference from 1 has more digits that nobody wrote than other numbers.
			in, limit = related(in, base.Against, plans.Change), rounded(math.Round((ratio-1)*1e12)/1e12)
		}
	}
	if math.IsNaN(limit) || math.IsInf(limit, 0) {
		return Wrong("rule-type", "Not a number", "%s is not compared with a finite number in %s.", in.Path, c.Text)
	}
	c.Metric, c.Threshold = in, limit
	c.AtLeast = (op[0] == '>') != (factor < 0) != c.Negated
	c.Strict = (len(op) == 1) != c.Negated
	if measured == "" {
		return nil
	}
	c.Form = in.Form(limit)
	// A threshold that no ratio can have has no logarithm to test with, and no measurement
	// decides it, whichever side of it the rule wants.
	saved := in.Relation == plans.Gain && in.Better == string(measure.Lower)
	limits := "always more than -1, as at most all of it can be lost"
	if saved {
		limits = "always less than 1, as at most all of it can be saved"
	}
	switch {
	case !in.Ratio() || saved && limit < 1 || !saved && limit > -1:
		return nil
	case saved == c.AtLeast:
		return Wrong("never-holds", "Comparison can never hold",
			"%s is %s, so %s never passes. Ratios are fractions: 0.10 is 10%%.", in.Path, limits, c.Text)
	}
	return Wrong("always-holds", "Comparison always holds",
		"%s is %s, so %s decides nothing. Ratios are fractions: compare with one that you would not accept, such as "+
			"-0.03 for a loss of 3%%.", in.Path, limits, c.Text)
}

// rounded removes the error that arithmetic adds to decimal fractions.
func rounded(v float64) float64 {
	if v == 0 {
		return 0 // and not −0
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// related makes the input that compares own with its base.
func related(own *plans.Input, against plans.Against, rel plans.Relation) *plans.Input {
	in := *own
	in.Relation, in.Against = rel, against
	path := strings.TrimSuffix(own.Path, "."+own.Stat) + against.Suffix()
	if own.Stat != "median" && own.Stat != "p50" {
		path += "." + own.Stat
	}
	in.Path = path + "." + string(rel)
	if rel == plans.Change {
		in.Unit = ""
	}
	return &in
}

// bound compares one metric with a number, for what is not written as a rule.
func bound(in *plans.Input, op string, limit float64) (*plans.Cond, *Error) {
	number := &plans.Operand{Text: fmt.Sprint(limit), Type: plans.NumberInput, Factor: 1, Constant: limit}
	c, err := newCompare(valueOf(in), op, number, false)
	if err != nil {
		return nil, err
	}
	return &plans.Cond{Compare: c}, nil
}
