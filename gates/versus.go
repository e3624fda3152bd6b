package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// versus compares a candidate with another arm in one statistic of a metric, whatever
// rules ask of it: a single look at all launches that ran side by side.
type versus struct {
	in *plans.Input
	// logs is set if gain and se are in logs; else they have the metric's unit.
	logs bool
	// gain is how much better the candidate is, with its standard error and degrees of
	// freedom.
	gain, se, df float64
	// own and base are the means; pass is the level at which a look decides, first the
	// fewest launches per arm for one that does, and n those there are.
	own, base float64
	pass      float64
	first, n  int
	// plain is the difference without what findings add to its spread.
	plain stats.Difference
}

// alone reports whether there are two launches per arm, which do not show how certain the
// gain is: se is 0.
func (v versus) alone() bool { return v.n == stats.Clear }

// least and most bound the gain from either side, each at a level.
func (v versus) least(level float64) float64 { return v.gain - stats.Quantile(level, v.df)*v.se }
func (v versus) most(level float64) float64  { return v.gain + stats.Quantile(level, v.df)*v.se }

// worsens is how much worse it got, relative to before, in logs.
func (v versus) worsens() float64 {
	switch {
	case v.logs:
		return -v.gain
	case v.base == 0:
		return math.Log(2)
	}
	return math.Log1p(max(0, -v.gain) / math.Abs(v.base))
}

// change is a gain as the relative change of the metric's own number.
func (v versus) change(gain float64) float64 {
	if v.in.Better == string(measure.Lower) {
		gain = -gain
	}
	return math.Expm1(gain)
}

// interval is the 95% interval of the change of the metric's own number, for people; nil
// if nothing varied.
func (v versus) interval() (low, high *float64) {
	if !v.plain.Bounded {
		return nil, nil
	}
	a, b := math.Expm1(v.plain.Low), math.Expm1(v.plain.High)
	return &a, &b
}

// certain is the false positive rate of findings, whatever a plan allows its rules.
const certain = 0.01

// certainty is the design for findings, of which only the levels and the first look
// count.
func (d *decider) certainty(in *plans.Input, recorded bool) (stats.Design, error) {
	most, first := d.most(in), stats.Unrecorded
	if recorded {
		first = stats.Recorded
	}
	return stats.Offer(certain, d.settings.FalseFail, min(d.settings.Min, most), most, first)
}

// versus compares the candidate with an arm in one statistic; false if a launch lacks it,
// or too few ran side by side to show anything.
func (d *decider) versus(f *Feature, base Arm, in *plans.Input) (v versus, ok bool) {
	own, why := collect(f.Candidate, in)
	if why != nil {
		return v, false
	}
	other, why := collect(base, in)
	if why != nil || own.incomparable(other, in) != nil {
		return v, false
	}
	p, err := paired(own, other, false)
	if err != nil || len(p.own) == 0 {
		return v, false
	}
	in.Unit = own.unit
	v = versus{in: in, n: len(p.own)}
	zero := func(x float64) bool { return !(x > 0) }
	v.logs = !in.MayBeZero() && !slices.ContainsFunc(p.own, zero) && !slices.ContainsFunc(p.base, zero)
	sc := scale{logs: v.logs, sign: 1}
	if in.Better == string(measure.Lower) {
		sc.sign = -1
	}
	q := stats.Question{Pass: certain, Fail: certain, Floor: d.tickOf(in, own.unit, sc, p) / math.Sqrt(12)}
	var errs [2]error
	q.Candidate, errs[0] = sc.values(p.own, p.ownIDs)
	q.Base, errs[1] = sc.values(p.base, p.baseIDs)
	q.Blocks = p.blocks()
	recorded := false
	if v.logs {
		n, known := d.noise(&plans.Compare{Form: verdict.Ratio, Metric: in})
		q.Floor, recorded = max(q.Floor, n.SD), known
	}
	design, err := d.certainty(in, recorded)
	if err != nil || errs[0] != nil || errs[1] != nil {
		return v, false
	}
	look, err := q.At(v.n)
	if err != nil || !(look.DF > 0) && !v.alone() {
		return v, false
	}
	v.gain, v.se, v.df = look.Estimate, look.SE, look.DF
	if v.alone() {
		v.df = 1
	}
	v.pass, v.first = design.Pass, design.First
	mean := stats.ArithmeticMean
	if v.logs {
		mean = stats.Mean
		if v.plain, err = stats.LogDifference(p.own, p.base); len(p.blocks()) > 0 {
			// Within the places that it ran on, which may differ by more than the arms.
			by := stats.Quantile(0.025, v.df) * v.se
			change := math.Log1p(v.change(v.gain))
			v.plain.Low, v.plain.High = change-by, change+by
		}
	}
	v.own, errs[0] = mean(p.own)
	v.base, errs[1] = mean(p.base)
	return v, err == nil && errs[0] == nil && errs[1] == nil
}

// metricOf is an input that reads one statistic of a metric of the candidate.
func metricOf(feature, cell, metric, stat string, better measure.Better) *plans.Input {
	in := &plans.Input{Kind: plans.InputMetric, Feature: feature, Cell: cell, Metric: metric, Stat: stat, Better: string(better), Type: plans.NumberInput}
	if in.Path = in.LaunchAddress(); stat != "median" {
		in.Path += "." + stat
	}
	return in
}
