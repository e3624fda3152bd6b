package gates

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// fewLaunches is how many launches an arm needs before anything that is counted
// of it decides: one says nothing of how launches differ.
const fewLaunches = 2

// exact decides a comparison on its values, which have no noise. What is counted
// has to be so in every launch and takes more than one, and a number of launches or
// requests that is not reached yet may be; one that is exceeded stays so.
func (c *ruling) exact(f *finding, leaf *plans.Leaf) error {
	f.Test = &verdict.Test{Form: verdict.Exact}
	if arms := c.counting(leaf); len(arms) > 0 {
		if err := c.counted(f, leaf, arms); err != nil {
			return err
		}
	} else {
		f.settle(leaf, f.Holds != leaf.Negated)
		f.reason = reason(leaf, f.Comparison, c.readings)
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
		if f.Test.Note = oneLaunch(in.Comparing()); !few {
			f.Test.Note = fmt.Sprintf("there may be up to %s", verdict.Launches(c.most(in)))
		}
		f.reason += ": " + f.Test.Note
		if n < c.most(in) && r.stale == "" {
			f.Test.Stop = verdict.StopOpen
			f.open = merged(f.open, []string{in.Feature})
		}
		return nil
	}
	if f.Test.Note != "" {
		f.reason += ": " + f.Test.Note
	}
	f.reason += c.crashBound(leaf, f.Verdict)
	return nil
}

// settle decides for good.
func (f *finding) settle(leaf *plans.Leaf, wanted bool) {
	f.Verdict, f.Test.Stop, f.Holds = verdict.Fail, verdict.StopFail, leaf.Negated
	if wanted {
		f.Verdict, f.Test.Stop, f.Holds = verdict.Pass, verdict.StopPass, !leaf.Negated
	}
}

// exceeded reports whether a comparison of a count with numbers of the plan does not
// hold and cannot come to: launches and requests only become more.
func (c *ruling) exceeded(leaf *plans.Leaf) bool {
	in, limit, op := leaf.Left.Input, leaf.Right, leaf.Op
	if in == nil || !in.Counts() {
		in, limit, op = leaf.Right.Input, leaf.Left, plans.Turned(op)
	}
	if in == nil || !in.Counts() || in.Comparing() || !given(limit) {
		return false
	}
	switch op {
	case "<", "<=":
		return !leaf.Negated
	case ">", ">=":
		return leaf.Negated
	}
	if leaf.Negated {
		return false // what is denied is one number or some, and the next may be another
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

// crashBound says how little it shows that few launches did not crash, or how many
// did; empty for what is not about crashes.
func (c *ruling) crashBound(leaf *plans.Leaf, v verdict.Verdict) string {
	in := leaf.Left.Input
	if in == nil {
		in = leaf.Right.Input
	}
	if in == nil || in.Kind != plans.InputMetric || in.Metric != "crashes" || in.Comparing() {
		return ""
	}
	launches := c.readings[in].PerLaunch
	crashes := 0
	for _, n := range launches {
		crashes += int(n) // each was a start of its own, before the one that counts
	}
	if v != verdict.Pass {
		return fmt.Sprintf(": %d of %d starts crashed", crashes, crashes+len(launches))
	}
	return fmt.Sprintf(", which shows less than %s (95 %% confidence)", percentOf(stats.AtMost(crashes, crashes+len(launches), 0.95)))
}

func holds(op string, left, right any) (bool, error) {
	switch op {
	case "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	case "in":
		if list, ok := right.([]any); ok {
			for _, e := range list {
				if e == left {
					return true, nil
				}
			}
			return false, nil
		}
	}
	l, lok := left.(float64)
	r, rok := right.(float64)
	if lok && rok {
		switch op {
		case "<":
			return l < r, nil
		case "<=":
			return l <= r, nil
		case ">":
			return l > r, nil
		case ">=":
			return l >= r, nil
		}
	}
	return false, fmt.Errorf("cannot compare %v %s %v", left, op, right)
}
