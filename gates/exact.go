package gates

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// fewLaunches is how many launches an arm needs before anything that is counted
// of it decides: one says nothing of how launches differ.
const fewLaunches = 2

// exact decides a comparison on its values, which have no noise. What is counted
// takes more than one launch, and a number of launches or requests that is not
// reached yet may be.
func (c *ruling) exact(f *finding, leaf *plans.Leaf) {
	wanted := f.Holds != leaf.Negated
	f.Test = &verdict.Test{Form: verdict.Exact, Stop: verdict.StopFail}
	f.Verdict = verdict.Fail
	if wanted {
		f.Verdict, f.Test.Stop = verdict.Pass, verdict.StopPass
	}
	f.reason = reason(leaf, f.Comparison, c.readings)
	for _, in := range append(leaf.Left.Inputs(), leaf.Right.Inputs()...) {
		if in.Kind != plans.InputMetric {
			continue
		}
		r := c.readings[in]
		n := r.N
		if in.Comparing() {
			n = min(n, r.BaseN)
		}
		few := n < fewLaunches
		if !few && (wanted || !counted(in) || n >= c.most(in)) {
			continue
		}
		f.Verdict, f.Test.Stop = verdict.Inconclusive, verdict.StopEnd
		if few {
			f.reason += ": " + oneLaunch(in.Comparing())
		} else {
			f.reason += fmt.Sprintf(": there may be up to %s", launches(c.most(in)))
		}
		if n < c.most(in) && r.stale == "" {
			f.Test.Stop = verdict.StopOpen
			f.open = merged(f.open, []string{in.Feature})
		}
		return
	}
	if f.Verdict == verdict.Pass {
		f.reason += c.crashBound(leaf)
	}
}

// crashBound says how little it shows that few launches did not crash; empty for
// what is not about crashes.
func (c *ruling) crashBound(leaf *plans.Leaf) string {
	in := leaf.Left.Input
	if in == nil {
		in = leaf.Right.Input
	}
	if in == nil || in.Metric != "crashes" || in.Comparing() {
		return ""
	}
	r := c.readings[in]
	crashed := 0
	for _, n := range r.PerLaunch {
		if n > 0 {
			crashed++
		}
	}
	return fmt.Sprintf(", which shows less than %.2g %% (95 %% confidence)", 100*stats.AtMost(crashed, len(r.PerLaunch), 0.95))
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
