package plans

import "github.com/mxflow/mxflow/gates/verdict"

// Claim is a comparison in the one form in which statistics decide it: a number
// of launches is more, or less, than a threshold. Load works it out from the
// comparison as written, whatever side the number stands on and however it is
// scaled (chat.tg >= 0.97 * chat.tg.base is a change of at least −3 %).
type Claim struct {
	Form verdict.Form
	// Input is what is tested: of Relation Gain, Change, Delta, Own or Base. For
	// a comparison of a metric with its own base it is made up, and no input that
	// the rule names. Nil where Form is Exact.
	Input *Input
	// More is set where the rule wants more than the threshold, after every not
	// in front of the comparison was pushed into it.
	More bool
	// Strict is set where equality is not enough.
	Strict bool
	// Threshold is in the input's own number: 0.10 for a gain of 10 %.
	Threshold float64
}

// Logic is the rule as a tree with every not pushed down into its comparisons:
// the error budget follows it.
type Logic struct {
	// Op is "and", "or", "compare" or "truth".
	Op string
	// Args are the parts of and and or; at least two.
	Args []*Logic
	// Leaf is the comparison of Op compare, Truth the yes-or-no input of Op
	// truth, and Negated whether the rule wants it to be false.
	Leaf    *Leaf
	Truth   *Input
	Negated bool
}
