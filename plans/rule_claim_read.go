package plans

import (
	"math"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
)

// claim works out how a comparison is decided; nil, with an error that names the
// nearest form, where statistics do not decide it.
func (ns *namespace) claim(leaf *Leaf, sc *scope) (*Claim, *ruleError) {
	exact, noisy := false, false
	for _, in := range leaf.Inputs() {
		switch {
		case !in.exact():
			noisy = true
		case in.Kind != InputTarget:
			exact = true
		}
	}
	f := &claimed{ns: ns, sc: sc, leaf: leaf}
	switch {
	case !noisy:
		if err := f.oneAndAll(); err != nil {
			return nil, err
		}
		return &Claim{Form: verdict.Exact}, nil
	case exact:
		return nil, f.mixed()
	case leaf.Op == "==" || leaf.Op == "in":
		return nil, f.equality()
	}
	return f.read(leaf.Op)
}

// claimed is one comparison on its way to a claim.
type claimed struct {
	ns   *namespace
	sc   *scope
	leaf *Leaf
	// turned is set where the sides were multiplied by something negative.
	turned bool
}

// read brings a comparison to "number op threshold".
func (f *claimed) read(op string) (*Claim, *ruleError) {
	left, k := f.leaf.Left.asQuotient()
	right, other := f.leaf.Right.asQuotient()
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
	c := &Claim{Form: in.form(limit), Input: in, More: more, Strict: strict, Threshold: limit}
	if math.IsNaN(limit) || math.IsInf(limit, 0) {
		return nil, wrong("Not a number", "What %s is compared with in %s is not a finite number.", in.Path, f.leaf.Text)
	}
	return c, f.impossible(c)
}

// number is what a sum of inputs says of one number: sum op 0 is
// factor·(in − limit) op 0.
func (f *claimed) number(sum linear) (in *Input, factor, limit float64, err *ruleError) {
	switch len(sum.terms) {
	case 0:
		return nil, 0, 0, wrong("Comparison reads nothing", "In %s what is measured cancels out. Compare a measured value, such as chat.tg.gain >= 0.10.", f.leaf.Text)
	case 1:
		t := sum.terms[0]
		return t.in, t.factor.value, rounded(-sum.constant.value / t.factor.value), nil
	case 2:
		own, base := sum.terms[0], sum.terms[1]
		if own.in.Relation == Base {
			own, base = base, own
		}
		if baseOf(own.in, base.in) {
			return f.withBase(own, base, sum.constant)
		}
	}
	return nil, 0, 0, f.several(sum)
}

// withBase compares a number with the same of the other arm.
func (f *claimed) withBase(own, base term, constant amount) (in *Input, factor, limit float64, err *ruleError) {
	a, b := own.factor.value, base.factor.value
	ratio := rounded(-b / a)
	switch {
	case ratio == 1 && (constant.value != 0 || !own.in.positive() && !own.in.once()):
		return related(own.in, base.in, Delta), a, rounded(-constant.value / a), nil
	case constant.value != 0:
		return nil, 0, 0, f.scaledAndShifted(own.in, base.in, ratio, -constant.value/a)
	}
	// A difference to 1 has digits that nobody wrote, more than other numbers.
	return related(own.in, base.in, Change), a, rounded(math.Round((ratio-1)*1e12) / 1e12), nil
}

// rounded leaves out what arithmetic on decimal fractions adds to them.
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

// sign of a sum that is divided by: of a single number that is never zero; 0
// where it is not known.
func (a linear) sign() float64 {
	if len(a.terms) != 1 || a.constant.value != 0 || !a.terms[0].in.positive() {
		return 0
	}
	return math.Copysign(1, a.terms[0].factor.value)
}

// withoutDeltas takes deltas apart where the numbers that they are made of stand
// beside them, as in chat.tg.delta >= 0.1 * chat.tg.base.
func (a linear) withoutDeltas() linear {
	sum := linear{constant: a.constant}
	for _, t := range a.terms {
		parts := linear{terms: []term{t}}
		if t.in.Relation == Delta {
			own, base := apart(t.in)
			parts.terms = []term{{own, t.factor}, {base, amount{-t.factor.value, t.factor.size}}}
		}
		sum = sum.plus(parts, 1)
	}
	return sum
}
