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

// reading is one input with its value, or the verdict that its absence means.
type reading struct {
	verdict.Input
	// absent is the verdict that a missing value forces; empty when present.
	absent verdict.Verdict
}

func (r *reading) missing(v verdict.Verdict, format string, args ...any) *reading {
	r.absent, r.Missing = v, fmt.Sprintf(format, args...)
	r.Value, r.Text = nil, nil
	return r
}

func (r *reading) word(w string) *reading { r.Text = &w; return r }

// read looks an input up in the evidence.
func read(in *plans.Input, ev *Evidence) *reading {
	r := &reading{Input: verdict.Input{Path: in.Path, Unit: in.Unit}}
	if in.Kind == plans.InputTarget {
		v := in.Number
		r.Value = &v
		return r
	}
	f := ev.Features[in.Feature]
	if f == nil {
		return r.missing(verdict.Invalid, "feature %q was not run", in.Feature)
	}
	switch in.Kind {
	case plans.InputLevel:
		v, ok := f.Levels[in.Name]
		if !ok {
			return r.missing(verdict.Invalid, "level %s of feature %s was not run%s", in.Name, in.Feature, because(f))
		}
		return r.word(string(v))
	case plans.InputKnob:
		v, ok := f.Knobs[in.Name]
		if !ok {
			return r.missing(verdict.Invalid, "the candidate's value of knob %s is not known", in.Name)
		}
		return r.word(v)
	case plans.InputFeature:
		return readOutcome(r, in, f)
	case plans.InputMetric:
		return readMetric(r, in, f)
	}
	return r.missing(verdict.Error, "no reader for inputs of kind %q", in.Kind)
}

func because(f *Feature) string {
	if f.Cause == "" {
		return ""
	}
	return ": " + f.Cause
}

// readOutcome reads feature["x"].verdict, .accepted or .decided. A feature
// without an outcome has decided nothing, which is itself an answer only for
// .decided.
func readOutcome(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Outcome == "" && in.Name != "decided" {
		return r.missing(verdict.Invalid, "feature %s was not decided%s", in.Feature, because(f))
	}
	switch in.Name {
	case "verdict":
		return r.word(string(f.Outcome))
	case "accepted":
		return r.word(fmt.Sprint(f.Accepted))
	default:
		return r.word(fmt.Sprint(f.Outcome.Decided()))
	}
}

func readMetric(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, "%s", f.Cause)
	}
	base, baseName := f.Parent, "parent"
	if in.Root {
		base, baseName = f.Root, "baseline"
	}
	own, need := f.Candidate, in.Stat
	if in.Relation == plans.Base {
		own = base
	}
	if in.Comparing() && in.Relation != plans.Base {
		need = "median"
	}
	address := address(in)
	if need == "n" {
		return count(r, own, address)
	}
	values, requests, digests, err := collect(own, address, need)
	if err != "" {
		return r.missing(verdict.Inconclusive, "%s", err)
	}
	r.N, r.NRequests, r.PerLaunch, r.Samples = len(values), requests, values, digests
	if len(values) < minLaunches {
		return r.missing(verdict.Inconclusive, "%d launch of %s: at least %d are needed, since two launches of one variant differ", len(values), own.Name, minLaunches)
	}
	var baseValues []float64
	if in.Comparing() && in.Relation != plans.Base {
		baseValues, _, digests, err = collect(base, address, need)
		if err != "" {
			return r.missing(verdict.Inconclusive, "%s (%s)", err, baseName)
		}
		r.BaseN, r.BasePerLaunch = len(baseValues), baseValues
		r.Samples = append(r.Samples, digests...)
		if len(baseValues) < minLaunches {
			return r.missing(verdict.Inconclusive, "%d launch of %s: at least %d are needed", len(baseValues), base.Name, minLaunches)
		}
	}
	return r.relate(in, values, baseValues)
}

func address(in *plans.Input) string {
	if in.Cell == "" {
		return "engine." + in.Metric
	}
	return in.Cell + "." + in.Metric
}

// count is .n: the launches that have the metric. Zero launches are an absence,
// not a number to compare.
func count(r *reading, a Arm, address string) *reading {
	n := 0
	for _, l := range a.Launches {
		if s, ok := l.Metrics[address]; ok && s.N > 0 {
			n++
		}
	}
	if n == 0 {
		return r.missing(verdict.Inconclusive, "no launch of %s has %s", a.Name, address)
	}
	v := float64(n)
	r.Value, r.N = &v, n
	return r
}

// collect takes one statistic from every launch of an arm. A launch without it
// makes the whole arm incomplete: what is missing might have been the bad one.
func collect(a Arm, address, stat string) (values []float64, requests int, digests []string, problem string) {
	if len(a.Launches) == 0 {
		return nil, 0, nil, fmt.Sprintf("no launch of %s was measured", a.Name)
	}
	for _, l := range a.Launches {
		s, ok := l.Metrics[address]
		if !ok || s.N == 0 {
			return nil, 0, nil, fmt.Sprintf("launch %s has no %s", l.ID, address)
		}
		v, ok := s.Stats[stat]
		if stat == "n_requests" {
			v, ok = float64(s.Requests), true
		}
		if !ok {
			return nil, 0, nil, notEnough(l.ID, address, stat, s)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, 0, nil, fmt.Sprintf("%s.%s of launch %s is not a finite number", address, stat, l.ID)
		}
		values = append(values, v)
		requests += s.Requests
		if l.Samples != "" {
			digests = append(digests, l.Samples)
		}
	}
	return values, requests, digests, ""
}

func notEnough(id, address, stat string, s measure.Summary) string {
	return fmt.Sprintf("not enough samples for %s.%s in launch %s: %d values", address, stat, id, s.N)
}

// relate turns per-launch values into the number that the rule sees.
func (r *reading) relate(in *plans.Input, own, base []float64) *reading {
	var v float64
	var err error
	switch in.Relation {
	case plans.Gain, plans.Change:
		var d stats.Difference
		if d, err = stats.LogDifference(own, base); err == nil {
			v = ratio(in, d.Estimate)
			r.interval(d, func(x float64) float64 { return ratio(in, x) })
		}
	case plans.Delta:
		var d stats.Difference
		if d, err = stats.RawDifference(own, base); err == nil {
			v = d.Estimate
			r.interval(d, func(x float64) float64 { return x })
		}
	default:
		v, err = stats.Mean(own)
		if in.Stat == "n_requests" {
			v, err = float64(r.NRequests), nil
		}
	}
	if err != nil {
		return r.missing(verdict.Invalid, "%s: %v", in.Path, err)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return r.missing(verdict.Invalid, "%s is not a finite number", in.Path)
	}
	r.Value = &v
	return r
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
