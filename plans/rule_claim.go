package plans

import "github.com/mxflow/mxflow/gates/verdict"

// Claim is a comparison in the one form in which statistics decide it: a number
// of launches is more, or less, than a threshold. Load works it out from the
// comparison as written, whatever side the number stands on and however it is
// scaled (chat.tg >= 0.97 * chat.tg.base is a change of at least −3 %).
type Claim struct {
	// Form is how it is decided. Range stands for what a launch has once and
	// hardly varies, whether it is compared as a change, a delta or a level: its
	// Input's Relation says which.
	Form verdict.Form
	// Input is what is tested: of Relation Gain, Change, Delta, Own or Base. Its
	// Stat is what each launch contributes, for all relations. For a comparison
	// of a metric with its own base it is made up (a Change or Delta), has no
	// variable and is no input that the rule names. Nil where Form is Exact.
	Input *Input
	// More is set where the rule wants more than the threshold, after every not
	// in front of the comparison was pushed into it. It speaks of Input's number
	// as it is: with a gain of a metric that is better lower, more is better, and
	// with its change or its level, less is.
	More bool
	// Strict is set where equality is not enough.
	Strict bool
	// Threshold is in Input's own number and unit: 0.10 for a gain or change of
	// 10 % (a gain of a metric that is better lower is 1 − candidate/base, less
	// than 1; any other ratio is candidate/base − 1, more than −1), and a number
	// of the metric's unit for a delta or level. Of LogLevel it is more than 0.
	Threshold float64
}

// Tested reports whether it takes a test on several launches to decide it.
func (c *Claim) Tested() bool {
	return c != nil && c.Form != verdict.Exact && c.Form != verdict.Range
}

// ruleForms says in the language's reference how rules are decided.
const ruleForms = "Each comparison, in a criterion as well, is decided by itself, and `and`, `or` and `not` join what came out. " +
	"A gain, a change or a ratio to the base is decided by a test on the logarithms of the launches, a delta by one on the launches as they are, " +
	"a level by a one-sample test, memory and numbers that the engine says of itself by the whole range of the launches, what each launch counts (errors, crashes, tokens) by every launch, and outcomes and words by what they are. " +
	"The sides may be exchanged, scaled and moved about: `0.97 * chat.tg.base <= chat.tg` is `chat.tg.change >= -0.03`. " +
	"Refused, with the nearest form that is decided: `==` and `in` on measurements, `abs`, `min` and `max` of them, and comparisons, products and quotients of different metrics or features."

// Logic is the rule as a tree with every not pushed down into its comparisons:
// the error budget follows it.
type Logic struct {
	// Op is "and", "or", "compare" or "truth".
	Op string
	// Args are the parts of and and or; at least two, and none of the same Op.
	Args []*Logic
	// Leaf is the comparison of Op compare, Truth the yes-or-no input of Op
	// truth, and Negated whether the rule wants it to be false. The claim of a
	// leaf is turned already.
	Leaf    *Leaf
	Truth   *Input
	Negated bool
}

// The values of Logic.Op.
const (
	LogicAnd     = "and"
	LogicOr      = "or"
	LogicCompare = "compare"
	LogicTruth   = "truth"
)

// joinLogic is a tree of op over two; nil where one of them is not known.
func joinLogic(op string, a, b *Logic) *Logic {
	if a == nil || b == nil {
		return nil
	}
	joined := &Logic{Op: op}
	for _, part := range []*Logic{a, b} {
		if part.Op == op {
			joined.Args = append(joined.Args, part.Args...)
		} else {
			joined.Args = append(joined.Args, part)
		}
	}
	return joined
}

// Holds evaluates the tree, given what its comparisons (as written, before any
// not) and yes-or-no inputs are.
func (l *Logic) Holds(leaf func(*Leaf) bool, truth func(*Input) bool) bool {
	switch l.Op {
	case LogicCompare:
		return leaf(l.Leaf) != l.Negated
	case LogicTruth:
		return truth(l.Truth) != l.Negated
	}
	for _, arg := range l.Args {
		if arg.Holds(leaf, truth) != (l.Op == LogicAnd) {
			return l.Op == LogicOr
		}
	}
	return l.Op == LogicAnd
}

// parts are what has to hold, all of it, for the rule to.
func (l *Logic) parts() []*Logic {
	if l.Op == LogicAnd {
		return l.Args
	}
	return []*Logic{l}
}
