package gates

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// ruling is one rule while it is being decided.
type ruling struct {
	*decider
	rule     *plans.Rule
	inputs   []*plans.Input
	compares []*plans.Compare
	out      verdict.Rule
	readings map[*plans.Input]*reading
	leaves   map[*plans.Compare]*finding
	absent   []verdict.Verdict
}

// decide reads the inputs, decides each comparison and joins them. One absent input
// decides for the whole rule, even if an or could do without it: the author believed that
// both sides were watched, and a metric that disappears must not make a rule easier to
// pass.
func (c *ruling) decide() verdict.Rule {
	for _, in := range c.inputs {
		c.out.Inputs = append(c.out.Inputs, c.read(in).Input)
	}
	for _, leaf := range c.compares {
		f, err := c.find(leaf)
		if err != nil {
			if len(c.absent) > 0 {
				break
			}
			c.out.Verdict, c.out.Comparisons = verdict.Invalid, nil
			c.out.Reasons = append(c.out.Reasons, verdict.OfError(err))
			return c.out
		}
		c.leaves[leaf] = f
	}
	if len(c.absent) > 0 {
		c.out.Verdict = verdict.Join(c.absent...)
		_, c.out.Open = c.join(c.rule.Cond)
		return c.out
	}
	for _, leaf := range c.compares {
		f := c.leaves[leaf]
		c.out.Comparisons = append(c.out.Comparisons, f.Comparison)
		c.out.Reasons = append(c.out.Reasons, f.reason)
	}
	for _, in := range c.inputs {
		if in.Type == plans.BoolInput && !c.compared(in) {
			c.out.Reasons = append(c.out.Reasons, verdict.Say("comparison.truth", "{subject} is {is}",
				verdict.Text("is", fmt.Sprint(c.readings[in].value(in)))).On(in.Path))
		}
	}
	c.out.Verdict, c.out.Open = c.join(c.rule.Cond)
	return c.unsettle()
}

// read reads an input once.
func (c *ruling) read(in *plans.Input) *reading {
	if r := c.readings[in]; r != nil {
		return r
	}
	r := read(in, c.ev)
	c.readings[in] = r
	if r.absent != "" {
		c.absent = append(c.absent, r.absent)
		c.out.Reasons = append(c.out.Reasons, r.Absence())
	}
	return r
}

func (c *ruling) compared(in *plans.Input) bool {
	return slices.ContainsFunc(c.compares, func(leaf *plans.Compare) bool { return slices.Contains(leaf.Inputs(), in) })
}

// unsettle withdraws the decision of a rule that read numbers of an engine that was not
// started for them. Launches are the replicates: two measurements of one start differ by
// less than two starts do, so neither yes nor no follows. The computed numbers stay, for
// the reader.
func (c *ruling) unsettle() verdict.Rule {
	var names []string
	for _, r := range c.readings {
		if r.stale != "" {
			names = merged(names, []string{r.stale})
		}
	}
	if len(names) == 0 {
		return c.out
	}
	for i, leaf := range c.compares {
		if len(c.leaves[leaf].stale) > 0 {
			c.out.Comparisons[i].Verdict = verdict.Inconclusive
		}
	}
	c.out.Open = nil
	args := []verdict.Arg{verdict.List("arms", names)}
	if c.out.Verdict != verdict.Inconclusive {
		args = append(args, verdict.Text("would", string(c.out.Verdict)))
	}
	c.out.Reasons = append([]verdict.Reason{verdict.Say("launches.not_fresh",
		"{would?{would} by the numbers, but }launches of {arms:and} were not fresh starts: the server was "+
			"already running, so launch-to-launch variance is unknown; give its endpoint a restart command",
		args...)}, c.out.Reasons...)
	c.out.Verdict = verdict.Inconclusive
	return c.out
}

// join is the verdict of a part of a rule in three-valued logic, and the features for
// which more launches could change it. Parts of a settled and or or keep nothing open.
func (c *ruling) join(l *plans.Cond) (verdict.Verdict, []string) {
	switch {
	case l.Compare != nil:
		f := c.leaves[l.Compare]
		if f == nil {
			return verdict.Inconclusive, nil
		}
		return f.Verdict, f.open
	case l.Truth != nil:
		return c.truth(l)
	}
	settles, all := verdict.Fail, verdict.Pass
	if l.Op == plans.Or {
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

// truth is a yes or no that is a part of the rule by itself.
func (c *ruling) truth(l *plans.Cond) (verdict.Verdict, []string) {
	r := c.read(l.Truth)
	if r.absent != "" {
		return verdict.Inconclusive, r.awaited(l.Truth)
	}
	if (r.value(l.Truth) == true) != l.Negated {
		return verdict.Pass, nil
	}
	return verdict.Fail, nil
}

// merged returns the names of both lists, each once, in order.
func merged(a, b []string) []string {
	for _, name := range b {
		if i, there := slices.BinarySearch(a, name); !there {
			a = slices.Insert(slices.Clone(a), i, name)
		}
	}
	return a
}

// Open lists the features for which more launches could settle what is undecided, given
// how the rules came out: none once a rule has failed or can never be decided, as no
// launch changes that. A rule that does not decide ends nothing, but its own question
// keeps launches coming.
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

// settled reports whether a rule settles that its set does not pass. While a session
// runs, what is decided later (the benchmark's own verdict, a feature's outcome) settles
// nothing.
func settled(r verdict.Rule) bool {
	pending := slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return in.Pending })
	return !pending && r.Verdict != verdict.Pass && r.Verdict != verdict.Inconclusive
}
