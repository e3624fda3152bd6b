package gates

import (
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

// unknown is for what evidence lacks, invalid for what is wrong with it, impossible for
// what it cannot be.
func unknown(why verdict.Reason) *absence {
	return &absence{verdict: verdict.Inconclusive, reason: why}
}

func invalid(why verdict.Reason) *absence { return &absence{verdict: verdict.Invalid, reason: why} }

func impossible(why verdict.Reason) *absence { return &absence{verdict: verdict.Error, reason: why} }

// notYet is an absence that is decided or measured later.
func (a *absence) notYet() *absence { a.pending = true; return a }

// awaited names the feature of an input that is absent because nothing was launched yet.
func (r *reading) awaited(in *plans.Input) []string {
	if !r.unmeasured {
		return nil
	}
	return []string{in.Feature}
}

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
func read(in *plans.Input, ev *Evidence) *reading {
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

func (r *reading) lookUp(in *plans.Input, ev *Evidence) *absence {
	if in.Kind == plans.InputTarget {
		return r.number(in.Number)
	}
	if ev.exact() && ev.Set[in] == nil {
		return unknown(verdict.Say("missing.not_set", "the case does not set it"))
	}
	var f *Feature
	if ev != nil {
		f = ev.Features[in.Feature]
	}
	if f == nil {
		return invalid(verdict.New(code.FeatureNotRun).On(in.Feature)).notYet()
	}
	switch in.Kind {
	case plans.InputLevel:
		return r.level(in, f)
	case plans.InputKnob:
		v, ok := f.Knobs[in.Name]
		if !ok {
			return invalid(verdict.Say("missing.knob", "the candidate's value of knob {subject} is unknown").On(in.Name))
		}
		return r.word(v)
	case plans.InputFeature:
		return r.outcome(in, f)
	case plans.InputFound:
		if !ev.exact() {
			return r.found(in, f)
		}
	}
	switch {
	case f.Broken != "": // nothing to read, set or measured
		return &absence{verdict: f.Broken, reason: f.Cause}
	case ev.exact():
		return r.set(in, ev.Set[in])
	case in.Kind == plans.InputObserved:
		return r.observed(in, f)
	case in.Kind == plans.InputMetric:
		why := r.metric(in, f)
		if u := in.Unsent; why != nil && u != nil && why.verdict == verdict.Inconclusive {
			return unknown(verdict.Say("missing.not_sent",
				"{suite?suite {suite:q} does}{suite!the benchmark of protocol {protocol:q} does} not send "+
					"workload {subject}{suites?; {suites:or} does}",
				verdict.Text("suite", u.Suite), verdict.Text("protocol", u.Protocol), verdict.List("suites", u.Suites)).On(u.Workload))
		}
		return why
	}
	return impossible(verdict.New(code.NoReader, verdict.Text("kind", string(in.Kind))))
}

// set reads a value that is set rather than measured.
func (r *reading) set(in *plans.Input, value any) (why *absence) {
	switch v := value.(type) {
	case float64:
		why = r.number(v)
	case string:
		why = r.word(v)
	case bool:
		why = r.word(strconv.FormatBool(v))
	}
	if why == nil && r.value(in) == nil {
		return impossible(verdict.New(code.SaidUnfit, verdict.Text("is", literal(value)), verdict.Text("kind", string(in.Type))).On(in.Path))
	}
	return why
}

// from adds to a reason what a feature says about why it was not measured.
func (f *Feature) from(r verdict.Reason) verdict.Reason {
	if f.Cause.IsZero() {
		return r
	}
	return r.From(f.Cause)
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
		return invalid(f.from(verdict.Say("missing.level_not_run", "level {subject} of feature {feature} was not run",
			verdict.Text("feature", in.Feature)).On(in.Name))).notYet()
	case !v.Decided():
		return &absence{verdict: v, reason: f.from(verdict.New(code.NoOutcome, level).On(in.Feature).Is(v))}
	}
	return r.word(string(v))
}

// found reads a number that a level found for one variant, or two. A missing number takes
// the verdict of the level that should have found it.
func (r *reading) found(in *plans.Input, f *Feature) *absence {
	arms := []Arm{f.Candidate, f.base(in.Against)}
	switch {
	case in.Relation == plans.Base:
		arms = arms[1:]
	case !in.Comparing():
		arms = arms[:1]
	}
	values := make([]float64, len(arms))
	for i, a := range arms {
		v, why := a.found(in)
		level, ran := f.Levels[in.Name]
		switch {
		case why.IsZero():
			values[i] = v
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
		return invalid(f.from(verdict.Say("missing.feature_undecided", "feature {subject} is undecided").On(in.Feature))).notYet()
	case !f.Outcome.Decided():
		return &absence{verdict: f.Outcome, reason: f.from(verdict.New(code.NoOutcome).On(in.Feature).Is(f.Outcome))}
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
	own := r.own
	r.N, r.NRequests, r.PerLaunch, r.Samples = len(own.values), own.requests, own.values, own.digests()
	if why != nil {
		return why
	}
	if r.stale = arm.stale(); !in.Comparing() {
		return r.single(in)
	}
	r.base, why = collect(base, in)
	r.BaseN, r.BasePerLaunch = len(r.base.values), r.base.values
	r.Samples = append(r.Samples, r.base.digests()...)
	if why == nil {
		why = own.incomparable(r.base, in)
	}
	if why != nil {
		return why
	}
	if r.stale == "" {
		r.stale = base.stale()
	}
	return r.relate(in, own.values, r.base.values)
}

// single turns the launches' values of one arm into the number that a rule sees.
// Counts and spreads are not averaged in logs, as speeds, times and sizes are: a geometric
// mean would hide the one launch that crashed a hundred times.
func (r *reading) single(in *plans.Input) *absence {
	mean := stats.ArithmeticMean
	switch {
	case in.Stat == "n":
		return r.number(float64(r.N))
	case in.Stat == "n_requests":
		return r.number(float64(r.NRequests))
	case in.Better != "" && !in.MayBeZero() && in.Stat != "std" && in.Stat != "cv":
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
	d, err := difference(own, base, places(r.own.arm, r.base.arm), logs)
	if err != nil && logs {
		err = notAboveZero(err, r.own, r.base)
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

// difference is that of two arms with the 95% interval that is shown where no test has
// bounds: of the means of their logs, or of their values. If rounds ran on several places
// it is one within rounds, as places may differ by more than the arms.
func difference(own, base []float64, places []string, logs bool) (stats.Difference, error) {
	rounds := len(distinct(places)) > 1 && len(own) == len(base)
	if logs {
		return stats.LogDifference(own, base, rounds)
	}
	return stats.RawDifference(own, base, rounds)
}

// places are where the rounds of two arms ran; nil if not each round of both in one place.
func places(own, base Arm) []string {
	if on := own.places(); slices.Equal(on, base.places()) {
		return on
	}
	return nil
}

// ratio turns a difference of logs (candidate − base) into a gain or a change. Where
// lower is better a gain is the part saved: 1 − candidate/base.
func ratio(in *plans.Input, d float64) float64 {
	if saving(in) {
		return -math.Expm1(d)
	}
	return math.Expm1(d)
}

// saving reports whether an input is a gain of a lower-is-better metric.
func saving(in *plans.Input) bool {
	return in.Relation == plans.Gain && in.Better == string(measure.Lower)
}

// observed reads a string or bool that the candidate's engine reports about itself. All
// its launches must report it, and agree: a launch that does not might have had any value.
func (r *reading) observed(in *plans.Input, f *Feature) *absence {
	launches := f.Candidate.Launches
	if in.Words != "" {
		if launches = nil; f.Candidate.Qualified == nil {
			return invalid(verdict.New(code.Unqualified, verdict.Text("metric", in.Name)).On(f.Candidate.Name))
		}
		launches = []Launch{*f.Candidate.Qualified}
	}
	if len(launches) == 0 {
		return &absence{verdict: verdict.Inconclusive, reason: verdict.New(code.Unmeasured).On(f.Candidate.Name), unmeasured: true}
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
	return invalid(verdict.New(code.SaidUnfit, verdict.Text("is", literal(value)), verdict.Text("kind", string(in.Type))).On(in.Name))
}

// literal is an observed value in plan syntax.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// sample is one statistic of every launch of an arm.
type sample struct {
	arm      Arm
	values   []float64
	requests int
	// unit and correction are those of all its launches.
	unit, correction string
}

// digests are those of the raw samples that the values rest on.
func (s sample) digests() (list []string) {
	for i := range s.values {
		if sum := s.arm.Launches[i].Samples; sum != "" {
			list = append(list, sum)
		}
	}
	return list
}

// collect takes one statistic from every launch of an arm. A launch without it makes the
// whole arm incomplete: the missing value might have been the bad one.
func collect(a Arm, in *plans.Input) (sample, *absence) {
	s := sample{arm: a}
	address := in.LaunchAddress()
	metric := verdict.Text("metric", address)
	if !a.Lost.IsZero() {
		return s, unknown(a.Lost)
	}
	if len(a.Launches) == 0 {
		return s, &absence{verdict: verdict.Inconclusive, reason: verdict.New(code.Unmeasured).On(a.Name), unmeasured: in.Unsent == nil}
	}
	first := a.Launches[0].Metrics[address]
	s.unit, s.correction = first.Unit, first.Correction
	s.values = make([]float64, 0, len(a.Launches))
	for i := range a.Launches {
		l := &a.Launches[i]
		m := l.Metrics[address]
		v, why := valueOf(l, m, in)
		switch {
		case why != nil:
			return sample{arm: a}, why
		case m.Correction != s.correction:
			return sample{arm: a}, invalid(verdict.Say("launches.corrected_apart",
				"launch {subject} corrected {metric} by latency mode {is:q}, earlier ones by mode {was:q}: not "+
					"comparable",
				metric, verdict.Text("is", m.Correction), verdict.Text("was", s.correction)).On(l.ID))
		case m.Unit != s.unit:
			return sample{arm: a}, invalid(verdict.Say("launches.units_apart",
				"launch {subject} gives {metric} in {is:q}, earlier ones in {was:q}: measure all of them the "+
					"same way",
				metric, verdict.Text("is", m.Unit), verdict.Text("was", s.unit)).On(l.ID))
		}
		s.values = append(s.values, v)
		s.requests += m.Requests
	}
	return s, nil
}

// valueOf is the statistic of one launch. Counts rest on the median: a launch without one
// measured nothing that could be counted.
func valueOf(l *Launch, s measure.Summary, in *plans.Input) (float64, *absence) {
	stat := in.Stat
	if in.Counts() || stat == "" {
		stat = "median"
	}
	if s.N == 0 {
		return 0, unknown(l.without(in.LaunchAddress()))
	}
	v, ok := s.Stats[stat]
	switch least := measure.LeastToDecide(stat); {
	case !ok && s.N >= least:
		return 0, unknown(verdict.Say("launches.stat_lacking",
			"not enough samples in launch {subject}: no {stat} of {samples}",
			verdict.Text("stat", stat), verdict.Int("samples", s.N)).On(l.ID))
	case s.N < least:
		return 0, unknown(verdict.Say("launches.samples_lacking",
			"not enough samples in launch {subject}: {samples} of at least {least}",
			verdict.Int("samples", s.N), verdict.Int("least", least)).On(l.ID))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, unknown(verdict.Say("launches.stat_not_finite",
			"{metric}.{stat} of launch {subject} is not a finite number",
			verdict.Text("metric", in.LaunchAddress()), verdict.Text("stat", stat)).On(l.ID))
	case in.Stat == "n_requests" && s.Requests < 1:
		return 0, unknown(verdict.Say("launches.requests_unknown",
			"launch {subject} does not say how many requests {metric} comes from",
			verdict.Text("metric", in.LaunchAddress())).On(l.ID))
	}
	return v, nil
}

// incomparable says why two arms do not compare; nil if they do.
func (s sample) incomparable(base sample, in *plans.Input) *absence {
	apart := func(c code.Fact, is, was string) *absence {
		return invalid(verdict.New(c, verdict.Text("metric", in.LaunchAddress()), verdict.Text("is", is), verdict.Text("was", was), verdict.Text("against", base.arm.Name)).On(s.arm.Name))
	}
	switch {
	case s.unit != base.unit:
		return apart(code.Of("arms.units_apart",
			"launches of {subject} give {metric} in {is:q}, those of {against} in {was:q}: measure both the same "+
				"way"),
			s.unit, base.unit)
	case s.correction != base.correction:
		return apart(code.Of("arms.corrected_apart",
			"launches of {subject} corrected {metric} by latency mode {is:q}, those of {against} by mode "+
				"{was:q}: not comparable"),
			s.correction, base.correction)
	}
	return nil
}

// notAboveZero names the launch whose value has no log, or returns the error unchanged if
// there is none.
func notAboveZero(err error, arms ...sample) error {
	for _, s := range arms {
		for i, v := range s.values {
			if !(v > 0) {
				return fault(verdict.New(code.NotAboveZero, verdict.Text("arm", s.arm.Name), verdict.Num("value", v, "")).On(s.arm.Launches[i].ID))
			}
		}
	}
	return err
}
