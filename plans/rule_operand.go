package plans

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// RatioUnit is the unit of an operand that is a relative change or spread.
const RatioUnit = "ratio"

// Operand is one side of a comparison: an input, a constant, or arithmetic over
// such.
type Operand struct {
	// Text is the operand as written, evenly spaced.
	Text string
	// Type is number, word, bool or list.
	Type InputType
	// Unit is RatioUnit, a catalogue unit, or empty for a plain number.
	Unit string
	// Input is set when the operand is nothing but one input.
	Input *Input
	// Constant is a float64, a string, a bool or, on the right of in, a []any
	// of such.
	Constant any
	// Op and Args are arithmetic: + - * / with one or two arguments, or the
	// name of a function.
	Op   string
	Args []*Operand
}

// Inputs lists what the operand reads.
func (o *Operand) Inputs() []*Input {
	if o.Input != nil {
		return []*Input{o.Input}
	}
	var list []*Input
	for _, a := range o.Args {
		list = append(list, a.Inputs()...)
	}
	return list
}

// Value computes the operand, given the values of inputs. Every step has to be
// a finite number: 1/(1/0) is zero again, and would compare like one.
func (o *Operand) Value(of func(*Input) any) (any, error) {
	v := o.Constant
	switch {
	case o.Input != nil:
		v = of(o.Input)
	case o.Op != "":
		args := make([]float64, len(o.Args))
		for i, a := range o.Args {
			x, err := a.Value(of)
			if err != nil {
				return nil, err
			}
			n, ok := x.(float64)
			if !ok {
				return nil, fmt.Errorf("%s is not a number", a.Text)
			}
			args[i] = n
		}
		v = arithmetic(o.Op, args)
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("%s is not a finite number", o.Text)
	}
	if v == nil {
		return nil, fmt.Errorf("%s has no value", o.Text)
	}
	return v, nil
}

func arithmetic(op string, x []float64) any {
	switch {
	case op == "-" && len(x) == 1:
		return -x[0]
	case op == "+" && len(x) == 1:
		return x[0]
	case op == "abs" && len(x) == 1:
		return math.Abs(x[0])
	case len(x) < 2:
		return nil
	case op == "+":
		return x[0] + x[1]
	case op == "-":
		return x[0] - x[1]
	case op == "*":
		return x[0] * x[1]
	case op == "/":
		return x[0] / x[1]
	}
	v := x[0]
	for _, y := range x[1:] {
		switch op {
		case "max":
			v = math.Max(v, y)
		case "min":
			v = math.Min(v, y)
		default:
			return nil
		}
	}
	return v
}

// binding is how tightly an operand's outermost operator binds.
func (o *Operand) binding() int {
	switch {
	case len(o.Args) == 2 && (o.Op == "+" || o.Op == "-"):
		return 1
	case len(o.Args) == 2 && (o.Op == "*" || o.Op == "/"):
		return 2
	}
	return 3
}

// spelled is the text of op over args.
func spelled(op string, args []*Operand) string {
	whole := &Operand{Op: op, Args: args}
	wrap := func(o *Operand, least int) string {
		if o.binding() < least {
			return "(" + o.Text + ")"
		}
		return o.Text
	}
	switch {
	case slices.Contains(builtins, op):
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = a.Text
		}
		return op + "(" + strings.Join(texts, ", ") + ")"
	case len(args) == 1:
		return op + wrap(args[0], 3)
	default:
		return wrap(args[0], whole.binding()) + " " + op + " " + wrap(args[1], whole.binding()+1)
	}
}

// unitOf is the unit of op over args; ok is false where they do not go together.
// A plain number goes with everything, and so does a product of two units, which
// has no name of its own.
func unitOf(op string, args []*Operand) (unit string, ok bool) {
	unit = args[0].Unit
	for _, a := range args[1:] {
		switch {
		case op == "*" || op == "/":
			unit = scaled(op, unit, a.Unit)
		case unit == "":
			unit = a.Unit
		case a.Unit != "" && a.Unit != unit:
			return "", false
		}
	}
	return unit, true
}

func scaled(op, left, right string) string {
	switch {
	case right == "" || right == RatioUnit:
		return left
	case op == "*" && (left == "" || left == RatioUnit):
		return right
	}
	return ""
}
