package gates

import (
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
// every launch and takes more than one. Numbers of launches and requests only grow until
// the plan's most launches: one that is not reached may still be, one that is not exceeded
// may still be exceeded.
func (c *ruling) exact(f *finding, leaf *plans.Compare) (err error) {
	why := c.restsOn(leaf)
	f.settle(leaf, f.Holds != leaf.Negated)
	f.reason = f.statement(leaf, f.Verdict == verdict.Pass)
	if slices.ContainsFunc(leaf.Inputs(), (*plans.Input).Counted) {
		if why, err = c.counted(f, leaf); err != nil {
			return err
		}
	}
	pass := f.Verdict == verdict.Pass
	grown := leaf.Metric != nil && leaf.Metric.Counts() && leaf.AtLeast == pass
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
		if !few && (grown || !in.Counts() || n >= c.most(in)) {
			continue
		}
		f.Verdict, f.Test.Stop = verdict.Inconclusive, stats.Ended
		if f.Test.Note = verdict.Say("count.may_be_more", "up to {most} allowed: undecided",
			verdict.Int("most", c.most(in))); few {
			a := argument{test: &verdict.Test{}, n: n}
			if in.Comparing() {
				a.test.Against = string(in.Relation)
			}
			f.Test.Note = a.say(code.SaysNothing)
		}
		if n < c.most(in) && r.stale == "" {
			f.Test.Stop = stats.Open
			f.open = union(f.open, in.Feature)
		}
		f.reason = f.reason.Is(f.Verdict).From(append(why, f.Test.Note)...)
		return nil
	}
	if !f.Test.Note.IsZero() {
		why = append(why, f.Test.Note)
	}
	if f.Test.Remarks = c.crashed(leaf); f.Test.Remarks != nil {
		crashed, below := f.Test.Remarks[0], f.Test.Remarks[1]
		if pass {
			why = append(why, below)
		} else {
			why = append(why, crashed)
		}
	}
	f.reason = f.reason.Is(f.Verdict).From(why...)
	return nil
}

// restsOn lists the evidence behind the values of a comparison.
func (c *ruling) restsOn(leaf *plans.Compare) (on []verdict.Reason) {
	for _, in := range leaf.Inputs() {
		if r := c.readings[in]; r.N > 0 {
			on = append(on, verdict.New(code.RestsOn, r.evidence(in)...).On(in.Path))
		}
	}
	return on
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
		verdict.Say("count.crashes_below", "crash rate below {share:2} with 95% confidence",
			verdict.Num("share", stats.AtMost(crashes, starts, 0.95), shareUnit)),
	}
}

// counts are the values of one side of a comparison: per launch, or per pair of launches of
// two arms, if launches count it.
func (c *ruling) counts(o plans.Operand) (all []any, err error) {
	var values []any
	switch in := o.Input; {
	case in == nil:
		values = []any{nil} // a constant of the plan
	case !in.Counted():
		values = []any{c.readings[in].value(in)}
	case !in.Comparing():
		for _, own := range c.readings[in].own.values {
			values = append(values, own)
		}
	default:
		for _, own := range c.readings[in].own.values {
			for _, base := range c.readings[in].base.values {
				change := own/base - 1
				switch {
				case in.Relation == plans.Delta:
					change = own - base
				case isGainOfLowerBetter(in):
					change = -change
				}
				if in.Relation != plans.Delta {
					change = math.Round(change*1e12) / 1e12 // clear of floating-point rounding
				}
				values = append(values, change)
			}
		}
	}
	for _, v := range values {
		if v, err = o.Value(func(*plans.Input) any { return v }); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// counted decides a comparison of per-launch counts: it must hold in every launch, and
// one violation fails it for good. Between two arms it passes if it holds for every pair
// of launches, fails if for none, and stays undecided in between, as a range does. It
// returns the evidence behind its values.
func (c *ruling) counted(f *finding, leaf *plans.Compare) (why []verdict.Reason, err error) {
	left, err := c.counts(leaf.Left)
	if err != nil {
		return nil, err
	}
	right, err := c.counts(leaf.Right)
	if err != nil {
		return nil, err
	}
	n, off, far := len(left)*len(right), 0, -1.0
	var worst [2]any // the values farthest from what is required, or the first
	launch := 0
	for i, l := range left {
		for j, r := range right {
			is, err := holds(leaf.Op, l, r)
			if err != nil {
				return nil, err
			}
			if is != leaf.Negated {
				continue
			}
			off++
			x, number := l.(float64)
			y, both := r.(float64)
			if gap := math.Abs(x - y); far < 0 || number && both && leaf.Op != "!=" && gap > far {
				worst, launch, far = [2]any{l, r}, max(i, j)+1, max(0, gap)
			}
		}
	}
	f.settle(leaf, off == 0)
	f.Test.Each = "launch"
	if len(left) > 1 && len(right) > 1 || slices.ContainsFunc(leaf.Inputs(), (*plans.Input).Comparing) {
		f.Test.Each = "pair"
		if off > 0 && off < n {
			f.Verdict, f.Test.Stop = verdict.Inconclusive, stats.Futile
			f.Test.Note = verdict.Say("count.some_pairs", "undecided: true for some launches, false for others")
		}
	}
	f.Left, f.Right = sides(leaf, left[0], right[0])
	f.Left, f.Right = span(f.Left, left), span(f.Right, right)
	var each []verdict.Arg
	if f.Left.To != nil || f.Right.To != nil {
		each = []verdict.Arg{verdict.Text("each", f.Test.Each)}
		if f.Test.Each == "launch" && off > 0 {
			f.Left, f.Right = sides(leaf, worst[0], worst[1])
			f.Launch, f.Launches = launch, n
			f.reason = f.statement(leaf, false,
				append(each, verdict.Int("launch", launch), verdict.Int("launches", n))...)
			return nil, nil
		}
	}
	f.reason = f.statement(leaf, f.Verdict == verdict.Pass, each...)
	return c.restsOn(leaf), nil
}

// span is the value of one side, from the minimum of its counts to the maximum.
func span(side verdict.Value, counts []any) verdict.Value {
	var numbers []float64
	for _, v := range counts {
		if x, ok := v.(float64); ok {
			numbers = append(numbers, x)
		}
	}
	if len(numbers) > 1 && slices.Min(numbers) < slices.Max(numbers) {
		low, high := slices.Min(numbers), slices.Max(numbers)
		side.Number, side.To = &low, &high
	}
	return side
}
