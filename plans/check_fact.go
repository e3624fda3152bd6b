package plans

import (
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// fact is one condition that has to hold: which values of one quantity satisfy it.
type fact struct {
	// kind is what its rule is called.
	kind string
	rule *Rule
	leaf *Leaf
	text string
	// in is the quantity, of which a gain is the change, whatever was written.
	in    *Input
	holds interval
	// written is the input before that, and wants what the rule wants of it.
	written *Input
	wants   interval
}

// factOf is a part of a rule's logic as a condition on one number; nil where it
// is about more than one, or none.
func factOf(kind string, r *Rule, part *Logic) *fact {
	if part.Op != LogicCompare {
		return nil
	}
	f := &fact{kind: kind, rule: r, leaf: part.Leaf, text: part.Leaf.Text}
	if part.Negated {
		f.text = "not (" + f.text + ")"
	}
	if !f.number() && !f.listed() {
		return nil
	}
	return f
}

// number reads a comparison of one number with a bound.
func (f *fact) number() bool {
	in, op, limit, ok := against(f.leaf)
	if !ok {
		return false
	}
	f.written, f.wants = in, where(op, limit)
	f.in, f.holds = in, f.wants
	if in.Relation == Gain {
		change := *in
		change.Relation, change.Path = Change, strings.TrimSuffix(in.Path, ".gain")+".change"
		if f.in = &change; in.Better == string(measure.Lower) {
			f.holds = f.wants.turned()
		}
	}
	return true
}

// listed reads a count that may be one of several numbers, as what lies between the
// least and the greatest of them.
func (f *fact) listed() bool {
	in, list := f.leaf.Left.Input, anyList(f.leaf.Right.Constant)
	if f.leaf.Op != "in" || f.leaf.Negated || in == nil || in.Type != NumberInput || len(list) == 0 {
		return false
	}
	all := interval{low: math.Inf(1), high: math.Inf(-1)}
	for _, v := range list {
		x, ok := v.(float64)
		if !ok {
			return false
		}
		all.low, all.high = min(all.low, x), max(all.high, x)
	}
	f.in, f.holds, f.written, f.wants = in, all, in, all
	return true
}
