package gates

import (
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// tell puts what launches count into words: which of them is worst where one does
// not keep to it, else from where to where they go.
func (c *ruling) tell(f *finding, leaf *plans.Leaf, arms []*counting, all, off []tally) {
	where := ""
	switch {
	case len(all) == 1:
		f.Left, f.Right = show(leaf, all[0].left, all[0].right)
	case len(arms) == 1 && len(off) > 0:
		worst := worstOf(leaf, off)
		f.Left, f.Right = show(leaf, worst.left, worst.right)
		counted := &f.Left
		if leaf.Left.Constant != nil {
			counted = &f.Right
		}
		*counted += fmt.Sprintf(" in launch %d of %d", worst.launch, arms[0].launches)
		f.reason = found(leaf, f.Comparison, false) + everyLaunch
		return
	default:
		f.Left, f.Right = span(leaf, all)
		where = everyLaunch
		if len(arms) > 1 {
			where = " of any two launches"
		}
	}
	f.reason = found(leaf, f.Comparison, f.Verdict == verdict.Pass) + where + evidence(leaf.Inputs(), c.readings)
}

const everyLaunch = " in every launch"

// worstOf is the launch that is farthest from what is wanted, or the first.
func worstOf(leaf *plans.Leaf, off []tally) tally {
	worst, far := off[0], -1.0
	for _, t := range off {
		l, lok := t.left.(float64)
		r, rok := t.right.(float64)
		if gap := math.Abs(l - r); lok && rok && leaf.Op != "!=" && gap > far {
			worst, far = t, gap
		}
	}
	return worst
}

// span writes both sides from the least to the greatest.
func span(leaf *plans.Leaf, all []tally) (left, right string) {
	low, high := all[0], all[0]
	for _, t := range all {
		if less(t.left, low.left) {
			low.left = t.left
		}
		if less(high.left, t.left) {
			high.left = t.left
		}
		if less(t.right, low.right) {
			low.right = t.right
		}
		if less(high.right, t.right) {
			high.right = t.right
		}
	}
	a, b := show(leaf, low.left, low.right)
	x, y := show(leaf, high.left, high.right)
	return fromTo(a, x), fromTo(b, y)
}

func less(a, b any) bool {
	x, xok := a.(float64)
	y, yok := b.(float64)
	return xok && yok && x < y
}

// fromTo is "0 to 2 tokens".
func fromTo(low, high string) string {
	if low == high {
		return low
	}
	number, unit, _ := strings.Cut(low, " ")
	if _, other, _ := strings.Cut(high, " "); unit == other {
		low = number
	}
	return low + " to " + high
}
