package gates

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// show writes both sides of a comparison with their unit; a constant takes the
// unit of what it is compared with.
func show(leaf *plans.Leaf, left, right any) (string, string) {
	unit := leaf.Left.Unit
	if unit == "" {
		unit = leaf.Right.Unit
	}
	l, lok := left.(float64)
	r, rok := right.(float64)
	if lok && rok {
		a, b := apart(l, r, unit)
		if spread(leaf.Left) || spread(leaf.Right) {
			a, b = strings.TrimPrefix(a, "+"), strings.TrimPrefix(b, "+")
		}
		if leaf.Left.Op != "" || leaf.Right.Op != "" {
			// Twice a change may lie below -100 %, and is nothing that there is more of.
			a, _, _ = strings.Cut(a, " (")
			b, _, _ = strings.Cut(b, " (")
		}
		return a, b
	}
	return plain(left, unit), plain(right, unit)
}

// spread tells a coefficient of variation: a ratio, but no change with a sign.
func spread(o *plans.Operand) bool { return o.Input != nil && o.Input.Stat == "cv" }

func plain(v any, unit string) string {
	switch v := v.(type) {
	case float64:
		return format(v, unit, 0)
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = plain(e, unit)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(v)
}

// reason is one comparison as a sentence with its evidence: what was found, and
// what was wanted.
func reason(leaf *plans.Leaf, c verdict.Comparison, readings map[*plans.Input]*reading) string {
	return found(leaf, c, c.Holds != leaf.Negated) + evidence(leaf.Inputs(), readings)
}

// found says what was found and what was wanted, and whether that is so.
func found(leaf *plans.Leaf, c verdict.Comparison, wanted bool) string {
	subject, other, is, want, op := leaf.Left, leaf.Right, c.Left, c.Right, leaf.Op
	if subject.Constant != nil {
		subject, other, is, want, op = other, subject, want, is, plans.Turned(op)
	}
	want = wish(op, want, leaf.Negated)
	if other.Constant == nil {
		want += " of " + other.Text
	}
	s := fmt.Sprintf("%s is %s, ", subject.Text, is)
	switch {
	case !wanted:
		return s + "wanted " + want
	case c.Left == c.Right && op == "==":
		return s + "as wanted"
	}
	return s + "as wanted (" + want + ")"
}

// wish is what a comparison asks for, in words.
func wish(op, value string, negated bool) string {
	switch op {
	case "==", "!=":
		if negated != (op == "!=") {
			return "anything but " + value
		}
		return value
	case "in":
		if negated {
			return "none of " + value
		}
		return "one of " + value
	}
	if negated {
		return "not " + op + " " + value
	}
	return op + " " + value
}

// evidence says what the values rest on; a value is named where there are two.
func evidence(inputs []*plans.Input, readings map[*plans.Input]*reading) string {
	var parts []string
	var last string
	for _, in := range inputs {
		if r := readings[in]; r != nil && r.N > 0 {
			last = strength(in, r)
			parts = append(parts, in.Path+": "+last)
		}
	}
	if len(parts) == 1 {
		return ", " + last
	}
	if len(parts) > 1 {
		return " (" + strings.Join(parts, "; ") + ")"
	}
	return ""
}

func strength(in *plans.Input, r *reading) string {
	s := "n = " + verdict.Launches(r.N)
	if r.BaseN > 0 {
		s = fmt.Sprintf("n = %d against %s", r.N, verdict.Launches(r.BaseN))
	}
	if r.Low == nil || r.High == nil || in.Counted() {
		return s
	}
	low, high := apart(*r.Low, *r.High, unitOf(in))
	return s + ", 95 % interval " + low + " to " + high
}

// unitOf is the unit in which an input is shown.
func unitOf(in *plans.Input) string {
	if in.Ratio() || in.Stat == "cv" {
		return plans.RatioUnit
	}
	return in.Unit
}
