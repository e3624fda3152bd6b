package gates

import (
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// fewLaunches is how many launches an arm needs before a count decides: one shows nothing
// of how launches differ.
const fewLaunches = 2

// exact decides a comparison on its values, which have no noise. A count must hold in
// every launch and takes more than one. A number of launches or requests that is not
// reached may still be; an exceeded one stays exceeded.
func (c *ruling) exact(f *finding, leaf *plans.Compare) error {
	f.Test = &verdict.Test{Form: verdict.Exact, Negated: leaf.Negated}
	// why is what decided it, after the evidence behind its values.
	var why []verdict.Reason
	if arms := c.counting(leaf); len(arms) > 0 {
		if f.Test.Each = "launch"; len(arms) > 1 {
			f.Test.Each = "pair"
		}
		if err := c.counted(f, leaf, arms); err != nil {
			return err
		}
		why = f.reason.Causes
	} else {
		f.settle(leaf, f.Holds != leaf.Negated)
		f.reason, why = f.found(leaf, f.Holds != leaf.Negated), c.rests(leaf.Inputs())
	}
	wanted := f.Verdict == verdict.Pass
	for _, in := range leaf.Inputs() {
		if in.Kind != plans.InputMetric {
			continue
		}
		r := c.readings[in]
		n := r.N
		if in.Comparing() {
			n = min(n, r.BaseN)
		}
		few := n < fewLaunches
		if !few && (wanted || !in.Counts() || n >= c.most(in) || c.exceeded(leaf)) {
			continue
		}
		f.Verdict, f.Test.Stop = verdict.Inconclusive, verdict.StopEnd
		if f.Test.Note = saysNothing(in, n); !few {
			f.Test.Note = verdict.New(code.MayBeMore, verdict.Int("most", c.most(in)))
		}
		if n < c.most(in) && r.stale == "" {
			f.Test.Stop = verdict.StopOpen
			f.open = merged(f.open, []string{in.Feature})
		}
		f.reason = f.reason.Is(f.Verdict).From(append(why, f.Test.Note)...)
		return nil
	}
	if !f.Test.Note.IsZero() {
		why = append(why, f.Test.Note)
	}
	if f.Test.Beside = c.crashed(leaf); len(f.Test.Beside) > 0 {
		crashed, below := f.Test.Beside[0], f.Test.Beside[1]
		if f.Verdict == verdict.Pass {
			why = append(why, below)
		} else {
			why = append(why, crashed)
		}
	}
	f.reason = f.reason.Is(f.Verdict).From(why...)
	return nil
}

// saysNothing is the reason that so few launches show nothing of how launches differ.
func saysNothing(in *plans.Input, n int) verdict.Reason {
	args := []verdict.Arg{verdict.Int("launches", n)}
	if in.Comparing() {
		args = append(args, verdict.Text("against", string(in.Relation)))
	}
	return verdict.New(code.SaysNothing, args...)
}

// settle decides for good.
func (f *finding) settle(leaf *plans.Compare, wanted bool) {
	f.Verdict, f.Test.Stop, f.Holds = verdict.Fail, verdict.StopFail, leaf.Negated
	if wanted {
		f.Verdict, f.Test.Stop, f.Holds = verdict.Pass, verdict.StopPass, !leaf.Negated
	}
}

// exceeded reports whether a comparison of a count with the plan's numbers does not hold
// and never will: launches and requests only increase.
func (c *ruling) exceeded(leaf *plans.Compare) bool {
	if leaf.Metric != nil {
		return leaf.Metric.Counts() && !leaf.AtLeast
	}
	in, limit := leaf.Left.Input, leaf.Right
	if in == nil || !in.Counts() {
		in, limit = leaf.Right.Input, leaf.Left
	}
	if in == nil || !in.Counts() || measured(limit) || leaf.Negated {
		return false // if one number is denied, or some, the next may differ
	}
	value := func(in *plans.Input) any { return c.readings[in].value(in) }
	count, _ := value(in).(float64)
	ends, err := limit.Value(value)
	list, many := ends.([]any)
	if !many {
		list = []any{ends}
	}
	return err == nil && !slices.ContainsFunc(list, func(end any) bool {
		n, number := end.(float64)
		return !number || n >= count
	})
}

// crashed is how many launches crashed, and how little it means that the others did not;
// none if the rule is not about crashes.
func (c *ruling) crashed(leaf *plans.Compare) []verdict.Reason {
	in := leaf.Left.Input
	if in == nil {
		in = leaf.Right.Input
	}
	if in == nil || in.Kind != plans.InputMetric || in.Metric != "crashes" || in.Comparing() {
		return nil
	}
	launches := c.readings[in].PerLaunch
	crashes := 0
	for _, n := range launches {
		crashes += int(n) // each was a start of its own, before the one that counts
	}
	starts := crashes + len(launches)
	return []verdict.Reason{
		verdict.New(code.Crashed, verdict.Int("crashes", crashes), verdict.Int("starts", starts)),
		verdict.New(code.CrashesBelow, verdict.Num("share", stats.AtMost(crashes, starts, 0.95), shareUnit)),
	}
}

// counting is an arm of which a comparison reads per-launch counts.
type counting struct {
	arm    countedArm
	inputs []*plans.Input
	// launches is their number, differing the first launch of each distinct count.
	launches  int
	differing []int
}

// countedArm tells arms apart.
type countedArm struct{ feature, role string }

// armsOf returns the arms whose launches an input counts; the second only if it compares
// two.
func armsOf(in *plans.Input) (own, base countedArm) {
	own, base = countedArm{in.Feature, "candidate"}, countedArm{in.Feature, "parent"}
	if in.Against != plans.Parent {
		base.role = string(in.Against)
	}
	if in.Relation == plans.Base {
		own = base
	}
	return own, base
}

// counting lists the arms of which a comparison reads per-launch counts, if any.
func (c *ruling) counting(leaf *plans.Compare) (arms []*counting) {
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

// counts is everything that launch i of an arm counts, as a key.
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

// mostTallies limits how many launches are compared with each other.
const mostTallies = 100_000

// tallies compares each launch of each arm with each of the others.
func (c *ruling) tallies(leaf *plans.Compare, arms []*counting) (out []tally, err error) {
	n := 1
	for _, a := range arms {
		if n *= len(a.differing); n > mostTallies {
			return nil, fault(verdict.New(code.TooManyPairs, verdict.Int("arms", len(arms))).On(leaf.Text))
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
// counts are cleared of floating-point rounding.
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

// counted decides a comparison of per-launch counts: it must hold in every launch, and
// one violation fails it for good. Between two arms it passes if it holds for every pair
// of launches, fails if for none, and stays undecided in between, as a range does.
func (c *ruling) counted(f *finding, leaf *plans.Compare, arms []*counting) error {
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
		f.Test.Note = verdict.New(code.SomePairs)
	}
	switch {
	case len(all) == 1:
		f.Left, f.Right = sides(leaf, all[0].left, all[0].right)
		f.reason = f.found(leaf, f.Verdict == verdict.Pass).From(c.rests(leaf.Inputs())...)
	case len(arms) == 1 && len(off) > 0:
		// The worst one is representative.
		worst := worstOf(leaf, off)
		f.Left, f.Right = sides(leaf, worst.left, worst.right)
		f.Launch, f.Launches = worst.launch, arms[0].launches
		f.reason = f.found(leaf, false, verdict.Text("each", "launch"), verdict.Int("launch", f.Launch), verdict.Int("launches", f.Launches))
	default:
		each := "launch"
		if len(arms) > 1 {
			each = "pair"
		}
		f.Left, f.Right = spans(leaf, all)
		f.reason = f.found(leaf, f.Verdict == verdict.Pass, verdict.Text("each", each)).From(c.rests(leaf.Inputs())...)
	}
	return nil
}

// worstOf is the launch farthest from what is required, or the first.
func worstOf(leaf *plans.Compare, off []tally) tally {
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

// spans returns both sides from minimum to maximum.
func spans(leaf *plans.Compare, all []tally) (left, right verdict.Value) {
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
	left, right = sides(leaf, low.left, low.right)
	toLeft, toRight := sides(leaf, high.left, high.right)
	return spanOf(left, toLeft), spanOf(right, toRight)
}

// spanOf is a span of two values, or one value if they are equal.
func spanOf(low, high verdict.Value) verdict.Value {
	if low.Number != nil && high.Number != nil && *low.Number != *high.Number {
		low.To = high.Number
	}
	return low
}

func less(a, b any) bool {
	x, xok := a.(float64)
	y, yok := b.(float64)
	return xok && yok && x < y
}
