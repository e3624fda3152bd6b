package gates

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// reading is one input with its value, or the verdict that its absence forces.
type reading struct {
	verdict.Input
	// absent is the verdict that a missing value forces; empty when present.
	absent verdict.Verdict
	// stale names an arm whose launches are not fresh starts; empty if all are.
	stale string
	// unmeasured is set if it is absent because an arm has no launch yet.
	unmeasured bool
	// own and base are the launches that a metric was read from; base is empty unless two
	// arms are compared.
	own, base sample
}

// absence is why there is no value, and the verdict that this forces.
type absence struct {
	verdict verdict.Verdict
	reason  verdict.Reason
	// unmeasured is set if an arm has no launch at all, pending if the value is not decided
	// or measured yet.
	unmeasured, pending bool
}

// unknown is an absence for lack of evidence, invalid for evidence that is wrong,
// impossible for a value that cannot exist.
func unknown(why verdict.Reason) *absence {
	return &absence{verdict: verdict.Inconclusive, reason: why}
}

func invalid(why verdict.Reason) *absence { return &absence{verdict: verdict.Invalid, reason: why} }

func impossible(why verdict.Reason) *absence { return &absence{verdict: verdict.Error, reason: why} }

// asPending is an absence that is decided or measured later.
func (a *absence) asPending() *absence { a.pending = true; return a }

func (r *reading) word(w string) *absence { r.Text = &w; return nil }

func (r *reading) number(v float64) *absence {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return invalid(verdict.Say("missing.not_finite", "not a finite number"))
	}
	r.Value = &v
	return nil
}

// value is what the expression sees of a present reading.
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

// read looks an input up in the evidence. Whatever the evidence claims, an absence never
// unlocks, nor is it a fail, which needs evidence too, such as a candidate that crashed
// where its parent did not.
func read(in *plans.Input, ev Evidence) *reading {
	r := &reading{Input: verdict.Input{Path: in.Path, Unit: in.UnitWord()}}
	why := r.lookUp(in, ev)
	if why == nil {
		return r
	}
	switch v := why.verdict; {
	case v == verdict.Inconclusive, v == verdict.Invalid, v == verdict.Error:
	case v == verdict.Fail && verdict.Holds([]verdict.Reason{why.reason}, code.CrashedAgain.Kind):
	case !v.Known():
		*why = absence{verdict: verdict.Error, reason: verdict.Say("missing.unknown_outcome",
			"feature {subject} has the unknown verdict {word:q}",
			verdict.Text("word", string(v))).On(in.Feature)}
	default:
		why.verdict = verdict.Error
	}
	r.absent, r.Missing = why.verdict, why.reason
	r.unmeasured, r.Pending = why.unmeasured, why.unmeasured || why.pending
	r.Value, r.Text = nil, nil
	return r
}

func (r *reading) lookUp(in *plans.Input, ev Evidence) *absence {
	if in.Invalid != "" {
		return unknown(verdict.Say("missing.marked_invalid", "the file of {subject} marks itself as no result: {why}",
			verdict.Text("why", in.Invalid)).On(in.Block + "." + in.Name))
	}
	if in.Kind == plans.InputTarget {
		return r.number(in.Number)
	}
	f := ev[in.Feature]
	if f == nil {
		return invalid(verdict.New(code.FeatureNotRun).On(in.Feature)).asPending()
	}
	switch in.Kind {
	case plans.InputLevel:
		return r.level(in, f)
	case plans.InputKnob:
		v, ok := f.Knobs[in.Name]
		if !ok {
			return invalid(verdict.Say("missing.knob", "the candidate's value of knob {subject} is unknown").
				On(in.Name))
		}
		return r.word(v)
	case plans.InputFeature:
		return r.outcome(in, f)
	case plans.InputFound:
		return r.levelResult(in, f)
	}
	switch {
	case f.Broken != "": // nothing to read
		return &absence{verdict: f.Broken, reason: f.Cause}
	case in.Kind == plans.InputObserved:
		return r.observed(in, f)
	case in.Kind == plans.InputMetric:
		why := r.metric(in, f)
		if u := in.Unsent; why != nil && u != nil && why.verdict == verdict.Inconclusive {
			return unknown(verdict.Say("missing.not_sent",
				"{suite?suite {suite:q} does}{suite!the benchmark of protocol {protocol:q} does} not send "+
					"workload {subject}{suites?; send it with {suites}}",
				verdict.Text("suite", u.Suite), verdict.Text("protocol", u.Protocol),
				verdict.List("suites", u.Suites)).On(u.Workload))
		}
		return why
	}
	return impossible(verdict.New(code.NoReader, verdict.Text("kind", string(in.Kind))))
}

// level reads the verdict of a level. Levels that were skipped or broke get invalid or
// error: no evidence either way, so levels.x != 'fail' must not hold for them.
func (r *reading) level(in *plans.Input, f *Feature) *absence {
	v, ok := f.Levels[in.Name]
	level := verdict.Text("level", in.Name)
	switch {
	case f.Broken == verdict.Fail && v != verdict.Pass:
		return &absence{verdict: f.Broken, reason: f.Cause}
	case !ok:
		return invalid(verdict.Say("missing.level_not_run", "level {subject} of feature {feature} was not run",
			verdict.Text("feature", in.Feature)).On(in.Name).From(f.Cause)).asPending()
	case !v.Decided():
		return &absence{verdict: v, reason: verdict.New(code.NoOutcome, level).On(in.Feature).Is(v).From(f.Cause)}
	}
	return r.word(string(v))
}

// levelResult reads a number that a level found for one variant, or two. A missing number takes
// the verdict of the level that should have found it.
func (r *reading) levelResult(in *plans.Input, f *Feature) *absence {
	arms := []Arm{f.Candidate, f.base(in.Against)}
	switch {
	case in.Relation == plans.Base:
		arms = arms[1:]
	case !in.Comparing():
		arms = arms[:1]
	}
	values := make([]float64, len(arms))
	for i, a := range arms {
		address := in.LaunchAddress()
		why := verdict.New(code.Unqualified, verdict.Text("metric", address)).On(a.Name)
		if q := a.Qualified; q.ID != "" {
			v, ok := q.Metrics[address].Stats["median"]
			if ok {
				values[i] = v
				continue
			}
			why = q.lacksMetric(address)
		}
		switch level, ran := f.Levels[in.Name]; {
		case ran && a.Name == f.Candidate.Name && !level.Unlocks():
			return invalid(verdict.New(code.NoOutcome, verdict.Text("level", in.Name)).On(in.Feature).Is(level))
		case f.Broken != "":
			return &absence{verdict: f.Broken, reason: f.Cause}
		default:
			return invalid(why)
		}
	}
	r.N = 1
	if len(values) == 1 {
		return r.number(values[0])
	}
	r.BaseN = 1
	return r.relate(in, values[:1], values[1:])
}

// outcome reads feature["x"].verdict, .accepted or .decided. As with levels, a locked,
// invalid or broken feature has no outcome that a rule could read, so neither "not
// accepted" nor "not decided" holds just because nothing was measured. What is left of
// .decided is true.
func (r *reading) outcome(in *plans.Input, f *Feature) *absence {
	switch {
	case f.Outcome == "":
		return invalid(verdict.Say("missing.feature_undecided", "feature {subject} is undecided").On(in.Feature).
			From(f.Cause)).asPending()
	case !f.Outcome.Decided():
		return &absence{
			verdict: f.Outcome,
			reason:  verdict.New(code.NoOutcome).On(in.Feature).Is(f.Outcome).From(f.Cause),
		}
	case f.Accepted && !f.Outcome.Unlocks():
		return impossible(verdict.Say("missing.accepted_anyway",
			"feature {subject} was accepted although it {verdict:did}").On(in.Feature).Is(f.Outcome))
	case in.Name == "verdict":
		return r.word(string(f.Outcome))
	case in.Name == "accepted":
		return r.word(strconv.FormatBool(f.Accepted))
	case in.Name == "decided":
		return r.word("true")
	}
	return impossible(verdict.New(code.NoReader, verdict.Text("kind", string(in.Kind)+" "+in.Name)))
}

// metric reads a metric from the launches of one or two arms.
func (r *reading) metric(in *plans.Input, f *Feature) (why *absence) {
	base, arm := f.base(in.Against), f.Candidate
	if in.Relation == plans.Base {
		arm = base
	}
	r.own, why = collect(arm, in)
	r.N, r.NRequests, r.PerLaunch = len(r.own.values), r.own.requests, r.own.values
	r.Samples = r.own.digests(nil)
	if why != nil {
		return why
	}
	if r.stale = arm.stale(); in.Comparing() {
		r.base, why = collect(base, in)
		r.BaseN, r.BasePerLaunch = len(r.base.values), r.base.values
		r.Samples = r.base.digests(r.Samples)
		if why == nil {
			why = r.own.incomparable(r.base, in)
		}
		if why != nil {
			return why
		}
		r.stale = cmp.Or(r.stale, base.stale())
		return r.relate(in, r.own.values, r.base.values)
	}
	// Counts and spreads are not averaged in logs, as speeds, times and sizes are: a
	// geometric mean would hide the one launch that crashed a hundred times.
	mean := stats.ArithmeticMean
	switch {
	case in.Stat == "n":
		return r.number(float64(r.N))
	case in.Stat == "n_requests":
		return r.number(float64(r.NRequests))
	case measure.InLogs(in.Cell, in.Metric, in.Stat, in.Unit, measure.Better(in.Better)):
		mean = stats.Mean
	}
	v, err := mean(r.own.values)
	if err != nil {
		return invalid(verdict.OfError(err))
	}
	return r.number(v)
}

// relate turns the launches' values of two arms into the number that a rule sees, with its
// 95% interval for readers, until a test has bounds of its own.
func (r *reading) relate(in *plans.Input, own, base []float64) *absence {
	number, logs := func(x float64) float64 { return x }, in.Ratio()
	if logs {
		number = func(x float64) float64 { return ratio(in, x) }
	}
	places := r.own.arm.places()
	if !slices.Equal(places, r.base.arm.places()) {
		places = nil
	}
	d, err := difference(own, base, places, logs)
	if err != nil && logs {
		for _, s := range []sample{r.own, r.base} {
			for i, v := range s.values {
				if !(v > 0) {
					return invalid(verdict.New(code.NotAboveZero, verdict.Text("arm", s.arm.Name),
						verdict.Num("value", v, "")).On(s.arm.Launches[i].ID))
				}
			}
		}
	}
	if err != nil {
		return invalid(verdict.OfError(err))
	}
	if low, high := number(d.Low), number(d.High); d.Bounded && !math.IsInf(high-low, 0) && !math.IsNaN(high-low) {
		low, high = min(low, high), max(low, high)
		r.Low, r.High = &low, &high
	}
	return r.number(number(d.Estimate))
}

// difference compares two arms, with the 95% interval that is shown where no test has
// bounds: of the means of their logs, or of their values. If rounds ran on several places
// it compares within rounds, as places may differ by more than the arms.
func difference(own, base []float64, places []string, logs bool) (stats.Difference, error) {
	return stats.Differ(own, base, logs, len(distinct(places)) > 1 && len(own) == len(base))
}

// ratio turns a difference of logs (candidate − base) into a gain or a change. Where
// lower is better a gain is the part saved: 1 − candidate/base.
func ratio(in *plans.Input, d float64) float64 {
	if isGainOfLowerBetter(in) {
		return -math.Expm1(d)
	}
	return math.Expm1(d)
}

// isGainOfLowerBetter reports whether an input is a gain of a lower-is-better metric.
func isGainOfLowerBetter(in *plans.Input) bool {
	return in.Relation == plans.Gain && in.Better == string(measure.Lower)
}

// observed reads a string or bool that the candidate's engine reports about itself. All
// its launches must report it, and agree: a launch that does not might have had any value.
func (r *reading) observed(in *plans.Input, f *Feature) *absence {
	launches := f.Candidate.Launches
	if in.Words != "" {
		if launches = nil; f.Candidate.Qualified.ID == "" {
			return invalid(verdict.New(code.Unqualified, verdict.Text("metric", in.Name)).On(f.Candidate.Name))
		}
		launches = []Launch{f.Candidate.Qualified}
	}
	if len(launches) == 0 {
		return &absence{
			verdict: verdict.Inconclusive, reason: verdict.New(code.Unmeasured).On(f.Candidate.Name),
			unmeasured: true,
		}
	}
	var value any
	for _, l := range launches {
		v, ok := l.Observed[in.Name]
		switch {
		case !ok || v == nil:
			why := l.Unobserved[in.Name]
			if why.IsZero() {
				why = verdict.Say("launches.not_looked_for", "not looked for")
			}
			return unknown(verdict.Say("launches.unsaid", "launch {subject} did not observe {name}",
				verdict.Text("name", in.Name)).On(l.ID).From(why))
		case value != nil && v != value:
			return invalid(verdict.Say("launches.said_apart",
				"launches of {subject} differ: {name} is {was} in launch {other}, {is} in launch {launch}",
				verdict.Text("name", in.Name),
				verdict.Text("launch", l.ID), verdict.Text("is", literal(v)),
				verdict.Text("other", launches[0].ID), verdict.Text("was", literal(value))).On(f.Candidate.Name))
		}
		value = v
	}
	r.N = len(launches)
	switch v := value.(type) {
	case string:
		if in.Type == plans.WordInput {
			return r.word(v)
		}
	case bool:
		if in.Type == plans.BoolInput {
			return r.word(strconv.FormatBool(v))
		}
	}
	return invalid(wrongKind(value, in, in.Name))
}

// wrongKind is the fact that a value is not of the kind that a rule reads.
func wrongKind(value any, in *plans.Input, subject string) verdict.Reason {
	return verdict.New(code.SaidUnfit, verdict.Text("is", literal(value)), verdict.Text("kind", string(in.Type))).
		On(subject)
}

func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// Measured is the measured value that a rule reads, with its evidence; no fact if it
// cannot be given.
func Measured(rule *plans.Rule, ev Evidence) verdict.Reason {
	inputs := rule.Inputs()
	if len(inputs) != 1 {
		return verdict.Reason{}
	}
	in := inputs[0]
	r := read(in, ev)
	if r.Value == nil {
		return verdict.Reason{}
	}
	return verdict.Say("value.seen",
		"{value}, {base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% CI "+
			"{interval}}",
		append(r.evidence(in), verdict.Num("value", *r.Value, unitOf(in)))...).On(in.Path)
}

// evidence is how many launches a value comes from, and how certain it is.
func (r *reading) evidence(in *plans.Input) []verdict.Arg {
	args := []verdict.Arg{verdict.Int("n", r.N)}
	if r.BaseN > 0 {
		args = append(args, verdict.Int("base_n", r.BaseN))
	}
	if r.Low != nil && r.High != nil && !in.Counted() {
		args = append(args, verdict.Span("interval", *r.Low, *r.High, unitOf(in)))
	}
	return args
}

// unitOf is the unit of an input's own number.
func unitOf(in *plans.Input) string {
	if in.Ratio() || in.Stat == "cv" {
		return plans.RatioUnit
	}
	return in.Unit
}
