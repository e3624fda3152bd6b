package plans

import (
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// fact is one condition that has to hold: which values of one quantity satisfy it.
type fact struct {
	// kind is what its rule is called, and of the feature whose criterion it is
	// where others ask for that feature to have passed.
	kind, of string
	rule     *Rule
	// leaf is nil for what is yes or no by itself.
	leaf *Leaf
	text string
	// in is the quantity, of which a gain is the change, whatever was written.
	in    *Input
	holds interval
	// written is the input before that, and wants what the rule wants of it.
	written *Input
	wants   interval
	// words are the words that satisfy it or, with without, those that do not;
	// empty for numbers.
	words   []string
	without bool
}

// factOf is a part of a rule's logic as a condition on one quantity; nil where it
// is about more than one, or none.
func factOf(kind string, r *Rule, part *Logic) *fact {
	f := &fact{kind: kind, rule: r, leaf: part.Leaf}
	ok := false
	switch part.Op {
	case LogicTruth:
		f.text, f.in, f.words = part.Truth.Path, part.Truth, []string{fmt.Sprint(!part.Negated)}
		f.written, ok = f.in, true
	case LogicCompare:
		f.text = part.Leaf.Text
		ok = f.number() || f.listed() || f.word()
	}
	if part.Negated {
		f.text = "not (" + f.text + ")"
	}
	if !ok {
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

// word reads a word, or a yes or no, that is compared with some.
func (f *fact) word() bool {
	in, other := f.leaf.Left.Input, f.leaf.Right
	if in == nil {
		in, other = other.Input, f.leaf.Left
	}
	list := anyList(other.Constant)
	if list == nil && other.Constant != nil {
		list = []any{other.Constant}
	}
	if in == nil || in.Type == NumberInput || len(list) == 0 {
		return false
	}
	for _, v := range list {
		f.words = append(f.words, fmt.Sprint(v))
	}
	f.in, f.written = in, in
	f.without = (f.leaf.Op == "!=") != f.leaf.Negated
	return true
}

// passed are the criteria of the features that a gate's rules ask to have passed.
// A gate is decided on what was measured of a feature that failed as well, so that
// those of the others need not hold.
func (c *planCheck) passed(rules []*Rule) (facts []*fact) {
	asked := map[string]bool{}
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		for _, part := range r.Program.Logic.parts() {
			f := factOf("rule", r, part)
			if f == nil || f.in.Kind != InputFeature || f.without || len(f.words) != 1 || asked[f.in.Feature] {
				continue
			}
			if f.in.Name == "accepted" && f.words[0] == "true" || f.in.Name == "verdict" && f.words[0] == "pass" {
				asked[f.in.Feature] = true
				facts = append(facts, criteriaOf(c.ns.features[f.in.Feature])...)
			}
		}
	}
	return facts
}

// criteriaOf are the conditions that hold of every feature that passed.
func criteriaOf(f *Feature) (facts []*fact) {
	if f == nil {
		return nil
	}
	decides := decisive(f)
	for _, r := range f.Criteria {
		if r.Program == nil || !decides[r.Name] {
			continue
		}
		for _, part := range r.Program.Logic.parts() {
			if known := factOf("criterion", r, part); known != nil {
				known.of = f.Name
				facts = append(facts, known)
			}
		}
	}
	return facts
}
