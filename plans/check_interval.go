package plans

import (
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// interval is a range of numbers; open ends are those that do not belong to it.
type interval struct {
	low, high         float64
	openLow, openHigh bool
}

var (
	everything = interval{low: math.Inf(-1), high: math.Inf(1)}
	notBelow0  = interval{low: 0, high: math.Inf(1)}
	above0     = interval{low: 0, high: math.Inf(1), openLow: true}
)

// where is the numbers x of which "x op limit" holds.
func where(op string, limit float64) interval {
	in := everything
	switch op {
	case "<", "<=":
		in.high, in.openHigh = limit, op == "<"
	case ">", ">=":
		in.low, in.openLow = limit, op == ">"
	case "==":
		in.low, in.high = limit, limit
	}
	return in
}

func (a interval) meets(b interval) interval {
	if b.low > a.low || b.low == a.low && b.openLow {
		a.low, a.openLow = b.low, b.openLow
	}
	if b.high < a.high || b.high == a.high && b.openHigh {
		a.high, a.openHigh = b.high, b.openHigh
	}
	return a
}

func (a interval) empty() bool {
	return a.low > a.high || a.low == a.high && (a.openLow || a.openHigh)
}

func (a interval) point() bool { return a.low == a.high && !a.empty() }

func (a interval) within(b interval) bool { return a.meets(b) == a }

// turned is a of the number with the other sign; 0 keeps its own.
func (a interval) turned() interval {
	return interval{low: 0 - a.high, high: 0 - a.low, openLow: a.openHigh, openHigh: a.openLow}
}

// String says in words what numbers there are.
func (a interval) String() string {
	if a.point() {
		return fmt.Sprintf("exactly %g", a.low)
	}
	var words []string
	if !math.IsInf(a.low, 0) {
		word := "at least"
		if a.openLow {
			word = "more than"
		}
		words = append(words, fmt.Sprintf("%s %g", word, a.low))
	}
	if !math.IsInf(a.high, 0) {
		word := "at most"
		if a.openHigh {
			word = "less than"
		}
		words = append(words, fmt.Sprintf("%s %g", word, a.high))
	}
	return strings.Join(words, " and ")
}

// against takes a comparison of one input with a number of the plan apart, as the
// rule wants it to hold: the input on the left, and no not in front.
func against(leaf *Leaf) (in *Input, op string, limit float64, ok bool) {
	if c := leaf.Claim; c != nil && c.Input != nil {
		op = "<"
		if c.More {
			op = ">"
		}
		if !c.Strict {
			op += "="
		}
		return c.Input, op, c.Threshold, true
	}
	left, right, op := leaf.Left, leaf.Right, leaf.Op
	if left.Input == nil || !left.Input.Measured() {
		left, right, op = right, left, Turned(op)
	}
	if leaf.Negated {
		op = denied[op]
	}
	if left.Input == nil || left.Input.Type != NumberInput || !left.Input.Measured() || op == "" || op == "in" || op == "!=" {
		return nil, "", 0, false
	}
	for _, other := range right.Inputs() {
		if other.Kind != InputTarget {
			return nil, "", 0, false
		}
	}
	v, err := right.Value(func(t *Input) any { return t.Number })
	limit, ok = v.(float64)
	return left.Input, op, limit, ok && err == nil
}

// flipped are the orders with the sides exchanged.
var flipped = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

// denied are the orders that hold where another does not.
var denied = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// Turned is the operator that says the same with the sides exchanged.
func Turned(op string) string {
	if turned, order := flipped[op]; order {
		return turned
	}
	return op
}

// domain is what numbers an input can be.
func (c *planCheck) domain(in *Input) interval {
	switch {
	case in.Kind != InputMetric:
		return everything
	case in.Relation == Delta || in.Unit == "°C":
		return everything
	case in.Relation == Gain && in.Better == string(measure.Lower):
		return interval{low: math.Inf(-1), high: 1, openHigh: true} // all of it is saved
	case in.Ratio():
		return interval{low: -1, high: math.Inf(1), openLow: true}
	case in.Stat == "n":
		if most := c.ns.launchesOf(in.Feature); most > 0 {
			return interval{low: 1, high: float64(most)}
		}
		return notBelow0
	case in.Stat == "std" || in.Stat == "cv" || in.Stat == "n_requests":
		return notBelow0
	case in.Cell == commandKind:
		return c.plan.commandEngine().leastOf(in.Metric)
	case in.Unit == "share":
		return interval{low: 0, high: 1}
	case in.Metric == "itl" || in.MayBeZero() || in.Better == string(measure.Neither):
		return notBelow0
	}
	return above0
}
