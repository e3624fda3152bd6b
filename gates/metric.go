package gates

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// minLaunches is how many launches an arm needs before any number of it can
// pass a rule: two launches of one variant differ, and one says nothing of how
// much.
const minLaunches = 2

func readMetric(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, "%s", f.Cause)
	}
	base, own := f.Parent, f.Candidate
	if in.Root {
		base = f.Root
	}
	if in.Relation == plans.Base {
		own = base
	}
	values, requests, digests, err := collect(own, in)
	r.N, r.NRequests, r.PerLaunch, r.Samples = len(values), requests, values, digests
	if err != nil {
		return r.missing(verdict.Inconclusive, "%v", err)
	}
	var baseValues []float64
	if in.Comparing() {
		baseValues, _, digests, err = collect(base, in)
		r.BaseN, r.BasePerLaunch = len(baseValues), baseValues
		r.Samples = append(r.Samples, digests...)
		if err != nil {
			return r.missing(verdict.Inconclusive, "%v", err)
		}
	}
	r.stale = stale(own)
	if in.Comparing() && r.stale == "" {
		r.stale = stale(base)
	}
	v, err := r.relate(in, values, baseValues)
	if err != nil {
		return r.missing(verdict.Invalid, "%s: %v", in.Path, err)
	}
	return r.number(in, v)
}

// address is where a launch keeps the metric.
func address(in *plans.Input) string {
	if in.Cell == "" {
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// needs is the statistic that every launch has to have. Counts rest on the
// median: a launch that has none measured nothing that could be counted.
func needs(in *plans.Input) string {
	if in.Comparing() || counted(in) {
		return "median"
	}
	return in.Stat
}

func counted(in *plans.Input) bool { return in.Stat == "n" || in.Stat == "n_requests" }

// collect takes one statistic from every launch of an arm. A launch without it
// makes the whole arm incomplete: what is missing might have been the bad one.
func collect(a Arm, in *plans.Input) (values []float64, requests int, digests []string, err error) {
	address, stat := address(in), needs(in)
	if len(a.Launches) == 0 {
		return nil, 0, nil, fmt.Errorf("no launch of %s was measured", a.Name)
	}
	first := a.Launches[0].Metrics[address].Correction
	for _, l := range a.Launches {
		s, ok := l.Metrics[address]
		if !ok || s.N == 0 {
			return nil, 0, nil, fmt.Errorf("launch %s has no %s", l.ID, address)
		}
		v, ok := s.Stats[stat]
		if !ok {
			return nil, 0, nil, fmt.Errorf("not enough samples for %s.%s in launch %s: %s", address, stat, l.ID, enough(stat, s.N))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, 0, nil, fmt.Errorf("%s.%s of launch %s is not a finite number", address, stat, l.ID)
		}
		if s.Correction != first {
			return nil, 0, nil, fmt.Errorf("launch %s corrected %s by a latency of mode %q, and those before it of mode %q, which do not compare", l.ID, address, s.Correction, first)
		}
		if in.Stat == "n_requests" && s.Requests < 1 {
			return nil, 0, nil, fmt.Errorf("launch %s does not say how many requests %s comes from", l.ID, address)
		}
		values = append(values, v)
		requests += s.Requests
		if l.Samples != "" {
			digests = append(digests, l.Samples)
		}
	}
	if n := len(values); n < minLaunches {
		return values, requests, digests, fmt.Errorf("%s of %s: at least %d are needed, since two launches of one variant differ", launches(n), a.Name, minLaunches)
	}
	return values, requests, digests, nil
}

func enough(stat string, n int) string {
	if least := measure.LeastValues(stat); n < least {
		return fmt.Sprintf("%d values of at least %d", n, least)
	}
	return fmt.Sprintf("it has none with %d values", n)
}

// relate turns per-launch values into the number that the rule sees.
func (r *reading) relate(in *plans.Input, own, base []float64) (float64, error) {
	switch {
	case in.Ratio():
		d, err := stats.LogDifference(own, base)
		if err != nil {
			return 0, fmt.Errorf("%w; for values that may be zero use .delta", err)
		}
		r.interval(d, func(x float64) float64 { return ratio(in, x) })
		return ratio(in, d.Estimate), nil
	case in.Relation == plans.Delta:
		d, err := stats.RawDifference(own, base)
		r.interval(d, func(x float64) float64 { return x })
		return d.Estimate, err
	case in.Stat == "n":
		return float64(r.N), nil
	case in.Stat == "n_requests":
		return float64(r.NRequests), nil
	case geometric(in):
		return stats.Mean(own)
	default:
		return stats.ArithmeticMean(own)
	}
}

// geometric tells speeds, times and sizes, which are averaged over launches in
// logs, from counts and spreads: a geometric mean would make little of the one
// launch that crashed a hundred times.
func geometric(in *plans.Input) bool {
	return in.Better != "" && !in.MayBeZero() && in.Stat != "std" && in.Stat != "cv"
}

// ratio turns a difference of logs (candidate − base) into a gain or a change.
// Where lower is better a gain is the part that was saved: 1 − candidate/base.
func ratio(in *plans.Input, d float64) float64 {
	if in.Relation == plans.Gain && in.Better == string(measure.Lower) {
		return -math.Expm1(d)
	}
	return math.Expm1(d)
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
