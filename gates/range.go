package gates

import (
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// rangeLaunches is how many launches an arm a range needs: with three of either,
// the whole of one lies beyond the whole of the other one time in twenty by
// chance.
const rangeLaunches = 3

// wholeRange decides a claim about what a launch has once and hardly varies, such
// as memory: it passes when the worst launch of one arm keeps to the limit against
// the best of the other, and fails when even the best against the worst does not.
// More launches only widen the range, so that in between it stays undecided.
func (d *decider) wholeRange(c *plans.Claim, r *reading) (verdict.Verdict, *verdict.Test, error) {
	own, base := r.own, r.base
	q := stats.RangeQuestion{
		Candidate: own.values, Base: base.values, Single: !c.Input.Comparing(), Relative: c.Input.Ratio(),
		Limit: c.Threshold, More: c.More, Strict: c.Strict,
	}
	if saving(c.Input) {
		q.Limit, q.More = -c.Threshold, !c.More // a gain is the change, turned
	}
	outcome, low, high, err := stats.Range(q)
	if err != nil {
		return "", nil, zeroInRatio(err)
	}
	if saving(c.Input) {
		low, high = -high, -low
	}
	t := describe(c, r, pairs{own: own.values, base: base.values, ownIDs: ids(own), baseIDs: ids(base)})
	t.Low, t.High, t.Relative = &low, &high, q.Relative
	n, most := len(own.values), d.most(c.Input)
	if c.Input.Comparing() {
		n = min(n, len(base.values))
	}
	t.First = max(rangeLaunches, min(d.settings.Min, most))
	switch {
	case outcome == stats.Open:
		t.Stop = verdict.StopFutile
	case n < t.First && t.First > most:
		t.Stop = verdict.StopEnd
	case n < t.First:
	case outcome == stats.Passed:
		t.Stop = verdict.StopPass
		return verdict.Pass, t, nil
	case outcome == stats.Failed:
		t.Stop = verdict.StopFail
		return verdict.Fail, t, nil
	}
	return verdict.Inconclusive, t, nil
}

func ids(t taken) (list []string) {
	for _, l := range t.arm.Launches {
		list = append(list, l.ID)
	}
	return list
}
