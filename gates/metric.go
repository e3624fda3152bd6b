package gates

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// readMetric reads what the launches of one or two arms say of a metric.
func readMetric(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, "%s", f.Cause)
	}
	base, arm := f.Parent, f.Candidate
	if in.Root {
		base = f.Root
	}
	if in.Relation == plans.Base {
		arm = base
	}
	own, why := collect(arm, in)
	r.own = own
	r.N, r.NRequests, r.PerLaunch, r.Samples = len(own.values), own.requests, own.values, own.digests
	if why != nil {
		return r.lacks(why, in)
	}
	if r.stale = stale(arm); !in.Comparing() {
		v, err := r.single(in, own.values)
		if err != nil {
			return r.missing(verdict.Invalid, "%v", err)
		}
		return r.number(v)
	}
	other, why := collect(base, in)
	r.base = other
	r.BaseN, r.BasePerLaunch = len(other.values), other.values
	r.Samples = append(r.Samples, other.digests...)
	if why == nil {
		why = own.incomparable(other, in)
	}
	if why != nil {
		return r.lacks(why, in)
	}
	if r.stale == "" {
		r.stale = stale(base)
	}
	v, err := r.relate(in, own.values, other.values)
	if err != nil {
		return r.missing(verdict.Invalid, "%v", err)
	}
	return r.number(v)
}

// lacks gives up on a metric. Where no launch was made yet, and the plan does not
// itself say that there will be none, launches may still bring it.
func (r *reading) lacks(why *lack, in *plans.Input) *reading {
	r.unmeasured = why.unmeasured && in.Unsent == ""
	r.Pending = r.unmeasured
	return r.missing(why.verdict, "%s", why.text)
}

// single turns the values of one arm's launches into the number that a rule sees.
func (r *reading) single(in *plans.Input, own []float64) (float64, error) {
	switch {
	case in.Stat == "n":
		return float64(r.N), nil
	case in.Stat == "n_requests":
		return float64(r.NRequests), nil
	case Geometric(in):
		return stats.Mean(own)
	default:
		return stats.ArithmeticMean(own)
	}
}

// relate turns the values of two arms' launches into the number that a rule sees.
func (r *reading) relate(in *plans.Input, own, base []float64) (float64, error) {
	if in.Ratio() {
		d, err := stats.LogDifference(own, base)
		if err != nil {
			return 0, noRatio(err, r.own, r.base)
		}
		r.interval(d, func(x float64) float64 { return ratio(in, x) })
		return ratio(in, d.Estimate), nil
	}
	d, err := stats.RawDifference(own, base)
	r.interval(d, func(x float64) float64 { return x })
	return d.Estimate, err
}

// Geometric tells speeds, times and sizes, which are averaged over launches in
// logs, from counts and spreads: a geometric mean would make little of the one
// launch that crashed a hundred times.
func Geometric(in *plans.Input) bool {
	return in.Better != "" && !in.MayBeZero() && in.Stat != "std" && in.Stat != "cv"
}

// ratio turns a difference of logs (candidate − base) into a gain or a change.
// Where lower is better a gain is the part that was saved: 1 − candidate/base.
func ratio(in *plans.Input, d float64) float64 {
	if saving(in) {
		return -math.Expm1(d)
	}
	return math.Expm1(d)
}

// saving tells a gain of a metric of which less is better.
func saving(in *plans.Input) bool {
	return in.Relation == plans.Gain && in.Better == string(measure.Lower)
}

func (r *reading) interval(d stats.Difference, f func(float64) float64) {
	if !d.Bounded {
		return
	}
	low, high := f(d.Low), f(d.High)
	if low > high {
		low, high = high, low
	}
	if math.IsInf(low, 0) || math.IsInf(high, 0) || math.IsNaN(low) || math.IsNaN(high) {
		return
	}
	r.Low, r.High = &low, &high
}
