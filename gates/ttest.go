package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// ttest decides a claim by the sequential t-test over the launches that it reads.
// It returns an error where the claim cannot be tested with what there is, which
// makes the rule invalid.
func (d *decider) ttest(c *plans.Claim, r *reading, sh share) (verdict.Verdict, *verdict.Test, error) {
	sc, err := scaleOf(c)
	if err != nil {
		return "", nil, err
	}
	p, err := paired(r.own, r.base, !c.Input.Comparing())
	if err != nil {
		return "", nil, err
	}
	floor, recorded := d.noise(c)
	design, err := d.design(c.Input, recorded)
	if err != nil {
		return "", nil, err
	}
	q, err := asked(c, sc, p, design, sh)
	if err != nil {
		return "", nil, err
	}
	t := describe(c, r, p)
	t.Theta, t.Pass, t.Fail, t.Share = sc.theta, q.Pass, q.Fail, sh.String()
	t.Plan, t.First, t.Floor, t.FloorDF = design.Looks, design.First, floor.SD, floor.DF
	tick := d.tickOf(c.Input, r.own.unit, sc, p)
	if ties(q.Candidate) || !q.Single && ties(q.Base) {
		t.Resolution = tick
	}
	q.Floor = max(floor.SD, tick/math.Sqrt(12))
	if len(p.own) == 0 {
		return verdict.Inconclusive, t, nil
	}
	outcome, looks, err := stats.Sequential(q, design)
	if err != nil {
		return "", nil, err
	}
	t.Stop = verdict.Stop(outcome)
	recordLooks(t, sc, looks)
	switch outcome {
	case stats.Passed:
		return verdict.Pass, t, nil
	case stats.Failed, stats.Screened:
		return verdict.Fail, t, nil
	}
	return verdict.Inconclusive, t, nil
}

// asked is a claim as the test takes it: on its scale, at its part of the levels.
func asked(c *plans.Claim, sc scale, p pairs, design stats.Design, sh share) (q stats.Question, err error) {
	q = stats.Question{
		Single: !c.Input.Comparing(), Theta: sc.theta,
		Pass: design.Pass / float64(sh.pass), Fail: design.Fail / float64(sh.fail),
	}
	if sc.logs {
		q.Screen = math.Log(0.75)
	}
	if q.Candidate, err = sc.values(p.own, p.ownIDs); err != nil {
		return q, err
	}
	q.Base, err = sc.values(p.base, p.baseIDs)
	return q, err
}

// recordLooks keeps what each look came to, and what the last one says.
func recordLooks(t *verdict.Test, sc scale, looks []stats.Look) {
	for _, l := range looks {
		t.Looks = append(t.Looks, verdict.Look{
			N: l.N, Estimate: l.Estimate, SE: l.SE, DF: l.DF, T: l.T, PPass: l.PPass, PFail: l.PFail, Chance: l.Chance,
		})
	}
	if n := len(looks); n > 0 {
		last := looks[n-1]
		t.Estimate = sc.finite(last.Estimate)
		t.Low, t.High = sc.bounds(last.Low, last.High)
	}
}

// describe is a test of a claim before anything is decided.
func describe(c *plans.Claim, r *reading, p pairs) *verdict.Test {
	return &verdict.Test{
		Form: c.Form, Metric: Address(c.Input), Stat: c.Input.Stat, Unit: r.own.unit, Arm: r.own.arm.Name, Against: r.base.arm.Name,
		Threshold: c.Threshold, More: c.More, Estimate: r.Value, Stop: verdict.StopOpen,
		Values: p.own, Base: p.base, Launches: p.ownIDs, BaseLaunches: p.baseIDs, Rounds: p.rounds, Unpaired: p.left,
	}
}

// noise is the stored launch noise of what a claim tests, which is kept of logs;
// recorded says that it is known well enough to plan with.
func (d *decider) noise(c *plans.Claim) (n Noise, recorded bool) {
	if c.Form != verdict.Ratio && c.Form != verdict.LogLevel {
		return n, false
	}
	key := NoiseKey(c.Input)
	n = d.settings.Noise[key]
	if f := d.feature(c.Input); f != nil && f.Noise != nil {
		n = f.Noise[key]
	}
	if !(n.DF >= LeastFreedom) || !(n.SD > 0) || math.IsInf(n.SD, 0) {
		return Noise{}, false
	}
	return n, true
}

// NoiseKey is what the noise of an input is kept under: its address, with the
// statistic where that is not the median.
func NoiseKey(in *plans.Input) string {
	switch in.Stat {
	case "", "median", "p50":
		return Address(in)
	}
	return Address(in) + "." + in.Stat
}

// LeastFreedom are the degrees of freedom from which launch noise counts as known: a
// floor, which allows the first time to look.
const LeastFreedom = 8

// tickOf is what the measurement can tell apart, on the scale of the test. In logs
// it weighs most where values are least.
func (d *decider) tickOf(in *plans.Input, unit string, sc scale, p pairs) float64 {
	if len(p.own) == 0 {
		return 0
	}
	values := slices.Concat(p.own, p.base)
	tick := resolution(unit, wholeByName(in), values)
	if in.Cell == commandCell {
		tick = max(tick, printed(values))
	}
	if sc.logs {
		return tick / slices.Min(values)
	}
	return tick
}

func ties(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return len(values) > 1
}
