package gates

import (
	"fmt"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// show formats one side of a comparison with its unit; a constant takes the
// unit of what it is compared with.
func show(o *plans.Operand, v any, other *plans.Operand, readings map[*plans.Input]*reading) string {
	f, ok := v.(float64)
	if !ok {
		return fmt.Sprint(v)
	}
	in := o.Input
	if in == nil {
		in = other.Input
	}
	if in == nil {
		return number(f)
	}
	if in.Ratio() {
		return Percent(f)
	}
	if in.Unit == "" {
		return number(f)
	}
	return number(f) + " " + in.Unit
}

// number prints four significant digits and no more than it must.
func number(f float64) string {
	if f != 0 && (f >= 1e6 || f <= -1e6) {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	s := strconv.FormatFloat(f, 'g', 4, 64)
	if g, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(g, 'f', -1, 64)
	}
	return s
}

// Percent prints a ratio as a signed percentage.
func Percent(f float64) string {
	return fmt.Sprintf("%+.1f %%", 100*f)
}

// reason is one comparison as a sentence with its evidence.
func reason(leaf *plans.Leaf, c verdict.Comparison, readings map[*plans.Input]*reading) string {
	word := "holds"
	if !c.Holds {
		word = "does not hold"
	}
	s := fmt.Sprintf("%s: %s %s %s %s", leaf.Text, c.Left, c.Op, c.Right, word)
	for _, o := range []*plans.Operand{leaf.Left, leaf.Right} {
		if o.Input == nil {
			continue
		}
		if e := evidence(o.Input, readings[o.Input]); e != "" {
			s += " (" + e + ")"
		}
	}
	return s
}

// evidence says what a value rests on.
func evidence(in *plans.Input, r *reading) string {
	if r == nil || r.N == 0 {
		return ""
	}
	s := fmt.Sprintf("n = %d launches", r.N)
	if r.BaseN > 0 {
		s = fmt.Sprintf("n = %d against %d launches", r.N, r.BaseN)
	}
	if r.Low != nil && r.High != nil {
		if in.Ratio() {
			s += fmt.Sprintf(", 95 %% interval %s to %s", Percent(*r.Low), Percent(*r.High))
		} else {
			s += fmt.Sprintf(", 95 %% interval %s to %s %s", number(*r.Low), number(*r.High), in.Unit)
		}
	}
	return s
}
