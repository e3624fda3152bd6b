package gates

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// join is the verdict of a part of a rule in three-valued logic, and the features
// of which more launches could change it. Parts of an and or an or that is settled
// keep nothing open.
func (c *ruling) join(l *plans.Logic) (verdict.Verdict, []string) {
	switch l.Op {
	case plans.LogicCompare:
		f := c.leaves[l.Leaf]
		if f == nil {
			return verdict.Inconclusive, nil
		}
		return f.Verdict, f.open
	case plans.LogicTruth:
		return c.truth(l)
	}
	settles, all := verdict.Fail, verdict.Pass
	if l.Op == plans.LogicOr {
		settles, all = all, settles
	}
	joined := all
	var open []string
	for _, part := range l.Args {
		v, o := c.join(part)
		if v == settles {
			return settles, nil
		}
		if v != all {
			joined = verdict.Inconclusive
		}
		open = merged(open, o)
	}
	return joined, open
}

// truth is a yes or no that stands in the rule by itself.
func (c *ruling) truth(l *plans.Logic) (verdict.Verdict, []string) {
	r := c.read(l.Truth)
	if r.absent != "" {
		return verdict.Inconclusive, r.awaited(l.Truth)
	}
	if (r.value(l.Truth) == true) != l.Negated {
		return verdict.Pass, nil
	}
	return verdict.Fail, nil
}

// merged are the names of both lists, each once, in order.
func merged(a, b []string) []string {
	for _, name := range b {
		if i, there := slices.BinarySearch(a, name); !there {
			a = slices.Insert(slices.Clone(a), i, name)
		}
	}
	return a
}

// Open lists the features of which more launches could settle what is not
// decided yet, given how the rules came out: none once one of them has failed,
// or can never be decided, which no launch changes. A rule that does not decide
// ends nothing, but its own question keeps launches coming.
func Open(rules []verdict.Rule) []string {
	var open []string
	for _, r := range rules {
		if r.Decides && settled(r) {
			return nil
		}
		open = merged(open, r.Open)
	}
	return open
}

// settled reports whether a rule has settled that the set of which it is one does
// not pass. While a session runs, what stands for later (the verdict of the
// benchmark itself, the outcome of a feature) settles nothing.
func settled(r verdict.Rule) bool {
	for _, in := range r.Inputs {
		if in.Pending {
			return false
		}
	}
	return r.Verdict != verdict.Pass && r.Verdict != verdict.Inconclusive
}
