package rules

import (
	"math"
	"slices"
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
	// turned is set if the sides were multiplied by something negative.
	turned bool
}

// read brings a comparison to "number op threshold".
func (f *claimed) read(op string) (*plans.Claim, *Error) {
	left, k := asQuotient(f.leaf.Left)
	right, other := asQuotient(f.leaf.Right)
	if k == nil {
		k = other
	}
	var all quotient
	if k == nil {
		var ok bool
		if all, ok = combined("-", []quotient{left, right}); !ok {
			k = &knot{}
		}
	}
	if k != nil {
		return nil, f.knotted(k)
	}
	if !all.whole() {
		sign := all.under.sign()
		if sign == 0 {
			return nil, f.divides(all.under)
		}
		f.turned = sign < 0
	}
	sum := all.over
	if len(sum.terms) > 1 {
		sum = sum.withoutDeltas()
	}
	in, factor, limit, err := f.number(sum)
	if err != nil {
		return nil, err
	}
	if factor < 0 {
		f.turned = !f.turned
	}
	more, strict := op == ">" || op == ">=", op == ">" || op == "<"
	if f.turned {
		more = !more
	}
	if f.leaf.Negated {
		more, strict = !more, !strict
	}
	c := &plans.Claim{Form: in.Form(limit), Input: in, More: more, Strict: strict, Threshold: limit}
	if math.IsNaN(limit) || math.IsInf(limit, 0) {
		return nil, Wrong("rule-type", "Not a number", "%s is not compared with a finite number in %s.", in.Path, f.leaf.Text)
	}
	return c, f.impossible(c)
}

// number reads a sum of inputs as a statement about one number:
// sum op 0 is factor·(in − limit) op 0.
func (f *claimed) number(sum linear) (in *plans.Input, factor, limit float64, err *Error) {
	switch len(sum.terms) {
	case 0:
		return nil, 0, 0, Wrong("rule-reads-nothing", "Comparison reads nothing", "The measured values in %s cancel out. Compare a measured value, such as chat.tg.gain >= 0.10.", f.leaf.Text)
	case 1:
		t := sum.terms[0]
		return t.in, t.factor.value, Rounded(-sum.constant.value / t.factor.value), nil
	case 2:
		own, base := sum.terms[0], sum.terms[1]
		if own.in.Relation == plans.Base {
			own, base = base, own
		}
		if baseOf(own.in, base.in) {
			return f.withBase(own, base, sum.constant)
		}
	}
	return nil, 0, 0, f.several(sum)
}

// withBase compares a number with that of the other arm.
func (f *claimed) withBase(own, base term, constant amount) (in *plans.Input, factor, limit float64, err *Error) {
	a, b := own.factor.value, base.factor.value
	ratio := Rounded(-b / a)
	switch {
	case ratio == 1 && (constant.value != 0 || !own.in.Positive() && !own.in.Once()):
		return related(own.in, base.in, plans.Delta), a, Rounded(-constant.value / a), nil
	case constant.value != 0:
		return nil, 0, 0, f.scaledAndShifted(own.in, base.in, ratio, -constant.value/a)
	}
	// A difference from 1 has more digits that nobody wrote than other numbers.
	return related(own.in, base.in, plans.Change), a, Rounded(math.Round((ratio-1)*1e12) / 1e12), nil
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

// sign is the sign of a divisor that is a single number and never zero; 0 if it is
// unknown.
func (a linear) sign() float64 {
	if len(a.terms) != 1 || a.constant.value != 0 || !a.terms[0].in.Positive() {
		return 0
	}
	return math.Copysign(1, a.terms[0].factor.value)
}

// withoutDeltas splits deltas into the numbers that they are made of, which may be beside
// them, as in chat.tg.delta >= 0.1 * chat.tg.base.
func (a linear) withoutDeltas() linear {
	sum := linear{constant: a.constant}
	for _, t := range a.terms {
		parts := linear{terms: []term{t}}
		if t.in.Relation == plans.Delta {
			own, base := apart(t.in)
			parts.terms = []term{{own, t.factor}, {base, amount{-t.factor.value, t.factor.size}}}
		}
		sum = sum.plus(parts, 1)
	}
	return sum
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
	in.Var, in.Relation, in.Against = "", rel, base.Against
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

// apart splits a delta into the candidate's number and that of its base.
func apart(delta *plans.Input) (own, base *plans.Input) {
	o, b := *delta, *delta
	path := strings.TrimSuffix(strings.TrimSuffix(delta.Path, ".delta"), delta.Against.Suffix())
	o.Path, o.Var, o.Relation, o.Against = path, "", plans.Own, plans.Parent
	b.Path, b.Var, b.Relation = path+".base", "", plans.Base
	if delta.Against != plans.Parent {
		b.Path = path + delta.Against.Suffix()
	}
	return &o, &b
}

// linear is a sum of inputs, each times a factor, and a constant: what one side
// of a comparison must be for statistics to decide it.
type linear struct {
	terms    []term
	constant amount
}

type term struct {
	in     *plans.Input
	factor amount
}

// amount is a number and the size of what it was computed from, by which a rounding error
// is distinguished from a difference.
type amount struct{ value, size float64 }

func (a amount) add(b amount, times float64) amount {
	return amount{a.value + times*b.value, a.size + math.Abs(times)*b.size}
}

func (a amount) none() bool { return math.Abs(a.value) <= 1e-12*a.size }

func constantOf(v float64) linear { return linear{constant: amount{v, math.Abs(v)}} }

// quotient is over divided by under.
type quotient struct{ over, under linear }

var one = constantOf(1)

// knot is why an operand is not a quotient of two sums: the operand at which it stops
// being one.
type knot struct{ at *plans.Operand }

// asQuotient reads an operand as a quotient of sums.
func asQuotient(o *plans.Operand) (quotient, *knot) {
	switch {
	case o.Input != nil && o.Input.Kind == plans.InputTarget:
		return quotient{constantOf(o.Input.Number), one}, nil
	case o.Input != nil:
		return quotient{linear{terms: []term{{o.Input, amount{1, 1}}}}, one}, nil
	case o.Op == "":
		v, _ := o.Constant.(float64)
		return quotient{constantOf(v), one}, nil
	}
	args := make([]quotient, len(o.Args))
	for i, a := range o.Args {
		q, k := asQuotient(a)
		if k != nil {
			return q, k
		}
		args[i] = q
	}
	if q, ok := combined(o.Op, args); ok {
		return q, nil
	}
	return quotient{}, &knot{o}
}

// combined applies an operator to quotients; ok is false if the result is not one.
func combined(op string, args []quotient) (q quotient, ok bool) {
	values, fixed := make([]float64, len(args)), true
	for i, a := range args {
		fixed = fixed && a.fixed()
		values[i] = a.over.constant.value
	}
	switch {
	case fixed: // numbers of the plan
		v, _ := plans.Arithmetic(op, values).(float64)
		return quotient{constantOf(v), one}, true
	case len(args) == 1 && (op == "+" || op == "-"):
		sign := 1.0
		if op == "-" {
			sign = -1
		}
		return quotient{linear{}.plus(args[0].over, sign), args[0].under}, true
	case len(args) != 2 || slices.Contains(builtins, op):
		return q, false
	}
	a, b := args[0], args[1]
	switch op {
	case "*":
		if a.fixed() {
			a, b = b, a
		}
		return quotient{linear{}.plus(a.over, b.over.constant.value), a.under}, b.fixed()
	case "/":
		switch {
		case b.fixed():
			by := b.over.constant.value
			return quotient{linear{}.plus(a.over, 1/by), a.under}, by != 0
		case a.fixed(): // 100 / (b.over / b.under)
			return quotient{linear{}.plus(b.under, a.over.constant.value), b.over}.simple(), true
		}
		return quotient{a.over, b.over}, a.whole() && b.whole()
	}
	sign := 1.0
	if op == "-" {
		sign = -1
	}
	switch {
	case b.fixed():
		return quotient{a.over.plus(a.under, sign*b.over.constant.value), a.under}, true
	case a.fixed():
		return quotient{linear{}.plus(b.under, a.over.constant.value).plus(b.over, sign), b.under}, true
	case a.whole() && b.whole() || a.under.equals(b.under):
		return quotient{a.over.plus(b.over, sign), a.under}, true
	}
	return q, false
}

// fixed reports whether a quotient is a number of the plan, whole whether it
// divides by nothing that is measured.
func (q quotient) fixed() bool { return q.whole() && len(q.over.terms) == 0 }

func (q quotient) whole() bool { return len(q.under.terms) == 0 }

// simple makes the divisor 1 if it is a number.
func (q quotient) simple() quotient {
	if by := q.under.constant.value; q.whole() && by != 0 {
		return quotient{linear{}.plus(q.over, 1/by), one}
	}
	return q
}

// plus is a + times·b, without what cancels.
func (a linear) plus(b linear, times float64) linear {
	sum := linear{constant: a.constant.add(b.constant, times)}
	sum.terms = append(make([]term, 0, len(a.terms)+len(b.terms)), a.terms...)
next:
	for _, t := range b.terms {
		for i := range sum.terms {
			if sameQuantity(sum.terms[i].in, t.in) {
				sum.terms[i].factor = sum.terms[i].factor.add(t.factor, times)
				continue next
			}
		}
		sum.terms = append(sum.terms, term{t.in, amount{}.add(t.factor, times)})
	}
	return sum.tidy()
}

// tidy removes what cancelled.
func (a linear) tidy() linear {
	kept := a.terms[:0]
	for _, t := range a.terms {
		if !t.factor.none() {
			kept = append(kept, t)
		}
	}
	a.terms = kept
	if a.constant.none() {
		a.constant.value = 0
	}
	return a
}

func (a linear) equals(b linear) bool {
	rest := a.plus(b, -1)
	return len(rest.terms) == 0 && rest.constant.value == 0
}

func sameQuantity(a, b *plans.Input) bool {
	return a == b || a.Metric == b.Metric && a.Quantity() == b.Quantity()
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
