package plans

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
)

// instead is a sentence with what to write: the first of the texts that would be
// accepted in the comparison's place; otherwise is said where none is.
func (f *claimed) instead(otherwise string, texts ...string) string {
	if f.sc.trial {
		return otherwise
	}
	sc := *f.sc
	sc.trial = true
	for _, text := range texts {
		if text == "" {
			continue
		}
		if _, errs := f.ns.compile(text, &sc); len(errs) == 0 {
			if strings.Contains(text, " or ") || f.leaf.Negated && strings.Contains(text, " and ") {
				text = "(" + text + ")"
			}
			return "Write in its place: " + text + "."
		}
	}
	return otherwise
}

// bounds is a comparison with a range around low to high: as it is where it is
// one already or nothing varies, else 2 % to either side.
func bounds(text string, in *Input, low, high float64) string {
	slack := 0.0
	switch {
	case low < high || in.once() && !in.Comparing():
	case in.Ratio() || low == 0:
		slack = 0.02
	default:
		slack = math.Abs(low) * 0.02
	}
	low, high = rounded(low-slack), rounded(high+slack)
	switch level := in.Relation == Own || in.Relation == Base; {
	case level && low < 0 && (in.MayBeZero() || in.positive()):
		return fmt.Sprintf("%s <= %g", text, high)
	case level && high > 1 && in.Unit == "share":
		return fmt.Sprintf("%s >= %g", text, low)
	}
	return fmt.Sprintf("%s >= %g and %[1]s <= %[3]g", text, low, high)
}

// unfolded writes a comparison of abs, max or min with a number without them.
func (f *claimed) unfolded() string {
	o, limit, op := f.leaf.Left, f.leaf.Right, f.leaf.Op
	if !slices.Contains(builtins, o.Op) {
		o, limit = limit, o
		op = flipped[op]
	}
	if !slices.Contains(builtins, o.Op) || !fixed(limit.Inputs()) {
		return ""
	}
	less := strings.HasPrefix(op, "<")
	word := " or "
	if less != (o.Op == "min") {
		word = " and "
	}
	var parts []string
	if o.Op == "abs" {
		minus := spelled("-", []*Operand{limit})
		parts = []string{o.Args[0].Text + " " + flipped[op] + " " + minus, o.Args[0].Text + " " + op + " " + limit.Text}
	} else {
		for _, a := range o.Args {
			if len(a.Inputs()) == 0 || fixed(a.Inputs()) {
				return "" // max(x, 5) <= 9: what is meant is not plain
			}
			parts = append(parts, a.Text+" "+op+" "+limit.Text)
		}
	}
	return strings.Join(parts, word)
}

// plainPath is an address without what follows the metric.
func plainPath(in *Input) string {
	path := in.Path
	for cut := true; cut; {
		cut = false
		for _, word := range append(measure.Stats(), "base", "root", "gain", "change", "delta") {
			if p, ok := strings.CutSuffix(path, "."+word); ok && strings.Contains(p, ".") {
				path, cut = p, true
			}
		}
	}
	return path
}

// each is a sentence that shows how to compare each number by itself.
func (f *claimed) each() string {
	var paths []string
	for _, in := range f.leaf.Inputs() {
		if in.exact() {
			continue
		}
		if p := better(in); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 1 {
		return fmt.Sprintf("Compare it with its base, as in %s, or with a number of the plan.", paths[0])
	}
	return "Compare each with its own base, as in " + strings.Join(paths[:min(len(paths), 3)], " and ") + ", or with a number of the plan."
}

// better is an example of a rule that wants an input's metric to be better than
// that of its parent.
func better(in *Input) string {
	if in.Better == string(measure.Neither) {
		return plainPath(in) + ".change >= 0.05"
	}
	return plainPath(in) + ".gain >= 0.05"
}

func (a linear) names() string {
	var names []string
	for _, t := range a.terms {
		names = append(names, t.in.Path)
	}
	return verdict.And(names)
}
