package gates

import (
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// counting is one arm that a comparison reads by what each of its launches counts.
type counting struct {
	arm    countedArm
	inputs []*plans.Input
	// launches is how many there are, differing the first of each that count
	// something else than those before.
	launches  int
	differing []int
}

// countedArm tells arms apart.
type countedArm struct{ feature, role string }

// armsOf are the arms by whose launches an input counts: of the second only where it
// compares two.
func armsOf(in *plans.Input) (own, base countedArm) {
	own, base = countedArm{in.Feature, "candidate"}, countedArm{in.Feature, "parent"}
	if in.Root {
		base.role = "root"
	}
	if in.Relation == plans.Base {
		own = base
	}
	return own, base
}

// counting lists the arms of which a comparison reads what each launch counts; none
// where it reads no such thing.
func (c *ruling) counting(leaf *plans.Leaf) (arms []*counting) {
	add := func(in *plans.Input, arm countedArm, values []float64) {
		i := slices.IndexFunc(arms, func(a *counting) bool { return a.arm == arm })
		if i < 0 {
			i, arms = len(arms), append(arms, &counting{arm: arm, launches: len(values)})
		}
		arms[i].inputs = append(arms[i].inputs, in)
	}
	for _, in := range leaf.Inputs() {
		if !in.Counted() {
			continue
		}
		own, base := armsOf(in)
		add(in, own, c.readings[in].own.values)
		if in.Comparing() {
			add(in, base, c.readings[in].base.values)
		}
	}
	for _, a := range arms {
		seen := map[string]bool{}
		for i := range a.launches {
			if key := c.counts(a, i); !seen[key] {
				seen[key] = true
				a.differing = append(a.differing, i)
			}
		}
	}
	return arms
}

// counts is all that launch i of an arm counts.
func (c *ruling) counts(a *counting, i int) (key string) {
	for _, in := range a.inputs {
		values := c.readings[in].base.values
		if own, _ := armsOf(in); own == a.arm {
			values = c.readings[in].own.values
		}
		key += fmt.Sprint(values[i], " ")
	}
	return key
}

// tally is a comparison for one launch of each arm.
type tally struct {
	left, right any
	holds       bool
	// launch counts that of the first arm from 1.
	launch int
}

// mostTallies bounds how many launches are held against each other.
const mostTallies = 100_000

// tallies are a comparison for each launch of each arm against each of the others.
func (c *ruling) tallies(leaf *plans.Leaf, arms []*counting) (out []tally, err error) {
	n := 1
	for _, a := range arms {
		if n *= len(a.differing); n > mostTallies {
			return nil, fmt.Errorf("%s counts over %d arms, whose launches are too many to hold each against each: compare them one by one", leaf.Text, len(arms))
		}
	}
	for k := range n {
		at := map[countedArm]int{}
		for _, a := range arms {
			at[a.arm], k = a.differing[k%len(a.differing)], k/len(a.differing)
		}
		value := func(in *plans.Input) any {
			if !in.Counted() {
				return c.readings[in].value(in)
			}
			return c.countOf(in, at)
		}
		t := tally{launch: at[arms[0].arm] + 1}
		if t.left, err = leaf.Left.Value(value); err != nil {
			return nil, err
		}
		if t.right, err = leaf.Right.Value(value); err != nil {
			return nil, err
		}
		if t.holds, err = holds(leaf.Op, t.left, t.right); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// countOf is an input of one launch, or of one against one of the base. Quotients of
// counts are freed of what the computer's rounding adds to them.
func (c *ruling) countOf(in *plans.Input, at map[countedArm]int) float64 {
	r := c.readings[in]
	arm, other := armsOf(in)
	own := r.own.values[at[arm]]
	if !in.Comparing() {
		return own
	}
	base := r.base.values[at[other]]
	switch {
	case in.Relation == plans.Delta:
		return own - base
	case saving(in):
		return math.Round((1-own/base)*1e12) / 1e12
	}
	return math.Round((own/base-1)*1e12) / 1e12
}

// counted decides a comparison of what launches count: it has to hold in every
// launch, and has failed for good with one that does not keep to it. Between two
// arms it holds for every launch against every one of the other, has failed where
// that is so of none, and stays undecided between, as a range does.
func (c *ruling) counted(f *finding, leaf *plans.Leaf, arms []*counting) error {
	all, err := c.tallies(leaf, arms)
	if err != nil {
		return err
	}
	var off []tally
	for _, t := range all {
		if t.holds == leaf.Negated {
			off = append(off, t)
		}
	}
	f.settle(leaf, len(off) == 0)
	if len(arms) > 1 && len(off) > 0 && len(off) < len(all) {
		f.Verdict, f.Test.Stop = verdict.Inconclusive, verdict.StopFutile
		f.Test.Note = "it holds between some launches and not between others, and more launches would not mend that"
	}
	c.tell(f, leaf, arms, all, off)
	return nil
}
