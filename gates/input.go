package gates

import (
	"fmt"
	"math"
	"strconv"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// reading is one input with its value, or the verdict that its absence means.
type reading struct {
	verdict.Input
	// absent is the verdict that a missing value forces; empty when present.
	absent verdict.Verdict
	// stale names an arm whose launches are no fresh starts; empty where all are.
	stale string
	// unmeasured is set where it is absent because an arm has no launch yet.
	unmeasured bool
	// own and base are the launches that a metric was read from; base has none
	// unless two arms are compared.
	own, base taken
}

// missing gives up on a value. Whatever the evidence claims, an absence is never
// one of the verdicts that unlock, nor a fail, which takes evidence too.
func (r *reading) missing(v verdict.Verdict, format string, args ...any) *reading {
	switch v {
	case verdict.Inconclusive, verdict.Invalid, verdict.Error:
	default:
		v = verdict.Error
	}
	r.absent, r.Missing = v, fmt.Sprintf(format, args...)
	r.Value, r.Text = nil, nil
	return r
}

// awaited names the feature of an input that is absent because nothing was
// launched yet.
func (r *reading) awaited(in *plans.Input) []string {
	if !r.unmeasured {
		return nil
	}
	return []string{in.Feature}
}

func (r *reading) word(w string) *reading { r.Text = &w; return r }

func (r *reading) number(v float64) *reading {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return r.missing(verdict.Invalid, "it is not a finite number")
	}
	r.Value = &v
	return r
}

// value is what the expression sees; the reading is present.
func (r *reading) value(in *plans.Input) any {
	switch {
	case in.Type == plans.WordInput && r.Text != nil:
		return *r.Text
	case in.Type == plans.BoolInput && r.Text != nil:
		return *r.Text == "true"
	case in.Type == plans.NumberInput && r.Value != nil:
		return *r.Value
	}
	return nil // which no comparison accepts
}

// read looks an input up in the evidence.
func read(in *plans.Input, ev *Evidence) *reading {
	r := &reading{Input: verdict.Input{Path: in.Path, Unit: in.Unit}}
	if in.Kind == plans.InputTarget {
		return r.number(in.Number)
	}
	var f *Feature
	if ev != nil {
		f = ev.Features[in.Feature]
	}
	if f == nil {
		r.Pending = true
		return r.missing(verdict.Invalid, "feature %q was not run", in.Feature)
	}
	switch in.Kind {
	case plans.InputLevel:
		return readLevel(r, in, f)
	case plans.InputKnob:
		v, ok := f.Knobs[in.Name]
		if !ok {
			return r.missing(verdict.Invalid, "the candidate's value of knob %s is not known", in.Name)
		}
		return r.word(v)
	case plans.InputObserved:
		return readObserved(r, in, f)
	case plans.InputFeature:
		return readOutcome(r, in, f)
	case plans.InputMetric:
		if r = readMetric(r, in, f); in.Unsent != "" && r.absent == verdict.Inconclusive {
			return r.missing(verdict.Inconclusive, "%s", in.Unsent)
		}
		return r
	}
	return r.missing(verdict.Error, "no reader for inputs of kind %q", in.Kind)
}

func because(f *Feature) string {
	if f.Cause == "" {
		return ""
	}
	return ": " + f.Cause
}

// readLevel reads the verdict of a level. Invalid and error are what levels get
// that were skipped or broke: no evidence either way, and levels.x != 'fail'
// must not hold for them.
func readLevel(r *reading, in *plans.Input, f *Feature) *reading {
	v, ok := f.Levels[in.Name]
	switch {
	case !ok:
		r.Pending = true
		return r.missing(verdict.Invalid, "level %s of feature %s was not run%s", in.Name, in.Feature, because(f))
	case !v.Known():
		return r.missing(verdict.Error, "level %s of feature %s has the unknown verdict %q", in.Name, in.Feature, v)
	case !v.Decided():
		return r.missing(v, "level %s of feature %s is %s%s", in.Name, in.Feature, v, because(f))
	}
	return r.word(string(v))
}

// readOutcome reads feature["x"].verdict, .accepted or .decided. As with levels,
// a feature that is locked, invalid or broken has no outcome that a rule could
// read, so that neither "not accepted" nor "not decided" holds because nothing
// was measured. What is left of .decided is true.
func readOutcome(r *reading, in *plans.Input, f *Feature) *reading {
	switch {
	case f.Outcome == "":
		r.Pending = true
		return r.missing(verdict.Invalid, "feature %s was not decided%s", in.Feature, because(f))
	case !f.Outcome.Known():
		return r.missing(verdict.Error, "feature %s has the unknown verdict %q", in.Feature, f.Outcome)
	case !f.Outcome.Decided():
		return r.missing(f.Outcome, "feature %s is %s%s", in.Feature, f.Outcome, because(f))
	case f.Accepted && !f.Outcome.Unlocks():
		return r.missing(verdict.Error, "feature %s was accepted although it is %s", in.Feature, f.Outcome)
	}
	switch in.Name {
	case "verdict":
		return r.word(string(f.Outcome))
	case "accepted":
		return r.word(strconv.FormatBool(f.Accepted))
	case "decided":
		return r.word("true")
	}
	return r.missing(verdict.Error, "features have no %q", in.Name)
}
