package gates

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// direct reports whether a comparison is written as the claim that decides it:
// one number, as it is, against what the plan says.
func direct(leaf *plans.Leaf) bool {
	return stands(leaf.Left, leaf) && given(leaf.Right) || stands(leaf.Right, leaf) && given(leaf.Left)
}

func given(o *plans.Operand) bool {
	return !slices.ContainsFunc(o.Inputs(), func(in *plans.Input) bool { return in.Measured() })
}

// stands reports whether an operand is what a leaf's claim tests.
func stands(o *plans.Operand, leaf *plans.Leaf) bool {
	in := leaf.Claim.Input
	return in != nil && o.Input != nil && (o.Input == in || o.Input.Path == in.Path && o.Input.Feature == in.Feature)
}

// looked puts the estimate of the last look in the place of that of all launches,
// where it stands in the comparison by itself: what is said of a test is said of
// the launches that it counted.
func looked(leaf *plans.Leaf, t *verdict.Test, left, right any) (any, any) {
	if t == nil || t.Estimate == nil || len(t.Looks) == 0 {
		return left, right
	}
	switch {
	case stands(leaf.Left, leaf):
		left = *t.Estimate
	case stands(leaf.Right, leaf):
		right = *t.Estimate
	}
	return left, right
}
