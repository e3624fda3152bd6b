package plans

import (
	"math"
	"slices"
)

// linear is a sum of inputs, each times a factor, and a constant: what one side
// of a comparison has to be for statistics to decide it.
type linear struct {
	terms    []term
	constant amount
}

type term struct {
	in     *Input
	factor amount
}

// amount is a number and the size of what it was computed from, against which a
// rest of rounding is told from a difference.
type amount struct{ value, size float64 }

func (a amount) add(b amount, times float64) amount {
	return amount{a.value + times*b.value, a.size + math.Abs(times)*b.size}
}

func (a amount) none() bool { return math.Abs(a.value) <= 1e-12*a.size }

func constantOf(v float64) linear { return linear{constant: amount{v, math.Abs(v)}} }

// quotient is over divided by under.
type quotient struct{ over, under linear }

var one = constantOf(1)

// knot is why an operand is no quotient of two sums: the operand at which it
// stops being one.
type knot struct{ at *Operand }

// quotient reads an operand as a quotient of sums.
func (o *Operand) asQuotient() (quotient, *knot) {
	switch {
	case o.Input != nil && o.Input.Kind == InputTarget:
		return quotient{constantOf(o.Input.Number), one}, nil
	case o.Input != nil:
		return quotient{linear{terms: []term{{o.Input, amount{1, 1}}}}, one}, nil
	case o.Op == "":
		v, _ := o.Constant.(float64)
		return quotient{constantOf(v), one}, nil
	}
	args := make([]quotient, len(o.Args))
	for i, a := range o.Args {
		q, k := a.asQuotient()
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

// combined is an operator over quotients; ok is false where the result is none.
func combined(op string, args []quotient) (q quotient, ok bool) {
	values, fixed := make([]float64, len(args)), true
	for i, a := range args {
		fixed = fixed && a.fixed()
		values[i] = a.over.constant.value
	}
	switch {
	case fixed: // numbers of the plan
		v, _ := arithmetic(op, values).(float64)
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

// simple divides by 1 where a quotient divides by a number.
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

// tidy leaves out what cancelled.
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

// quantity is an input without its spelling: chat.tg, chat.tg.median and
// chat.tg.p50 are one.
func (in *Input) quantity() Input {
	q := *in
	q.Path, q.Var = "", ""
	if q.Stat == "p50" {
		q.Stat = "median"
	}
	return q
}

func sameQuantity(a, b *Input) bool {
	return a == b || a.Metric == b.Metric && a.quantity() == b.quantity()
}
