package rules

import (
	"math"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// claim works out how a comparison is decided; nil if statistics do not decide it, with
// an error that names the nearest form.
func (ns *Namespace) claim(leaf *plans.Leaf, sc *Scope) (*plans.Claim, *Error) {
	exact, noisy := false, false
	for _, in := range leaf.Inputs() {
		switch {
		case !in.Exact():
			noisy = true
		case in.Kind != plans.InputTarget:
			exact = true
		}
	}
	f := &claimed{ns: ns, sc: sc, leaf: leaf}
	switch {
	case !noisy:
		if err := f.oneAndAll(); err != nil {
			return nil, err
		}
		return &plans.Claim{Form: verdict.Exact}, nil
	case exact:
		return nil, f.mixed()
	case leaf.Op == "==" || leaf.Op == "in":
		return nil, f.equality()
	}
	return f.read(leaf.Op)
}

// claimed is one comparison on its way to a claim.
type claimed struct {
	ns   *Namespace
	sc   *Scope
	leaf *plans.Leaf
}

// read brings a comparison to "number op threshold".
func (f *claimed) read(op string) (*plans.Claim, *Error) {
	left, right := f.leaf.Left, f.leaf.Right
	if fixed(left.Inputs()) {
		left, right, op = right, left, plans.Flipped[op]
	}
	in, factor := factored(left)
	var limit float64
	if fixed(right.Inputs()) {
		v, err := right.Value(func(target *plans.Input) any { return target.Number })
		if err != nil {
			return nil, Wrong("rule-type", "Not a number", "%v.", err)
		}
		number, _ := v.(float64)
		limit = Rounded(number / factor)
	} else {
		base, times := factored(right)
		if in.Relation == plans.Base {
			in, factor, base, times, op = base, times, in, factor, plans.Flipped[op]
		}
		if !baseOf(in, base) {
			return nil, f.several(in, base)
		}
		in, limit = withBase(in, base, Rounded(times/factor))
	}
	if math.IsNaN(limit) || math.IsInf(limit, 0) {
		return nil, Wrong("rule-type", "Not a number", "%s is not compared with a finite number in %s.", in.Path, f.leaf.Text)
	}
	more, strict := op == ">" || op == ">=", op == ">" || op == "<"
	if factor < 0 {
		more = !more
	}
	if f.leaf.Negated {
		more, strict = !more, !strict
	}
	c := &plans.Claim{Form: in.Form(limit), Input: in, More: more, Strict: strict, Threshold: limit}
	return c, f.impossible(c)
}

// factored is an operand as an input and its factor.
func factored(o *plans.Operand) (*plans.Input, float64) {
	if o.Of != nil {
		return o.Of, o.Factor
	}
	return o.Input, 1
}

// withBase compares a number with a multiple of that of the other arm.
func withBase(own, base *plans.Input, ratio float64) (in *plans.Input, limit float64) {
	if ratio == 1 && !own.Positive() && !own.Once() {
		return related(own, base, plans.Delta), 0
	}
	// A difference from 1 has more digits that nobody wrote than other numbers.
	return related(own, base, plans.Change), Rounded(math.Round((ratio-1)*1e12) / 1e12)
}

// Rounded removes the error that arithmetic adds to decimal fractions.
func Rounded(v float64) float64 {
	if v == 0 {
		return 0 // and not −0
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// baseOf reports whether base is the same number as own, of the other arm.
func baseOf(own, base *plans.Input) bool {
	if own.Kind != plans.InputMetric || own.Relation != plans.Own || base.Relation != plans.Base {
		return false
	}
	a, b := own.Quantity(), base.Quantity()
	b.Relation, b.Against = plans.Own, plans.Parent
	return a == b
}

// related makes the input that compares own with its base.
func related(own, base *plans.Input, rel plans.Relation) *plans.Input {
	in := *own
	in.Relation, in.Against = rel, base.Against
	path := strings.TrimSuffix(own.Path, "."+own.Stat) + base.Against.Suffix()
	if own.Stat != "median" && own.Stat != "p50" {
		path += "." + own.Stat
	}
	in.Path = path + "." + string(rel)
	if rel == plans.Change {
		in.Unit = ""
	}
	return &in
}

// impossible refuses a threshold that no ratio can have, whichever side of it the rule
// wants: there is no logarithm to test it with, and no measurement could decide it.
func (f *claimed) impossible(c *plans.Claim) *Error {
	in := c.Input
	if !in.Ratio() {
		return nil
	}
	saved := in.Relation == plans.Gain && in.Better == string(measure.Lower)
	var limits string
	switch {
	case saved && c.Threshold >= 1:
		limits = "always less than 1, as at most all of it can be saved"
	case !saved && c.Threshold <= -1:
		limits = "always more than -1, as at most all of it can be lost"
	default:
		return nil
	}
	if saved == c.More {
		return Wrong("never-holds", "Comparison can never hold", "%s is %s, so %s never passes. Ratios are fractions: 0.10 is 10%%.", in.Path, limits, f.leaf.Text)
	}
	return Wrong("always-holds", "Comparison always holds", "%s is %s, so %s decides nothing. Ratios are fractions: compare with one that you would not accept, such as -0.03 for a loss of 3%%.", in.Path, limits, f.leaf.Text)
}

// joinLogic is a tree of op over two; nil if one of them is unknown.
func joinLogic(op string, a, b *plans.Logic) *plans.Logic {
	if a == nil || b == nil {
		return nil
	}
	joined := &plans.Logic{Op: op}
	for _, part := range []*plans.Logic{a, b} {
		if part.Op == op {
			joined.Args = append(joined.Args, part.Args...)
		} else {
			joined.Args = append(joined.Args, part)
		}
	}
	return joined
}
