package gates

import (
	"fmt"
	"math"
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
	own, base taken
}

// missing gives up on a value. Whatever the evidence claims, an absence never unlocks,
// nor is it a fail, which needs evidence too, such as a candidate that crashed where its
// parent did not.
func (r *reading) missing(v verdict.Verdict, why verdict.Reason) *reading {
	switch {
	case v == verdict.Inconclusive, v == verdict.Invalid, v == verdict.Error:
	case v == verdict.Fail && verdict.Holds([]verdict.Reason{why}, code.CrashedAgain):
	default:
		v = verdict.Error
	}
	r.absent, r.Missing = v, why
	r.Value, r.Text = nil, nil
	return r
}

// awaited names the feature of an input that is absent because nothing was launched yet.
func (r *reading) awaited(in *plans.Input) []string {
	if !r.unmeasured {
		return nil
	}
	return []string{in.Feature}
}

func (r *reading) word(w string) *reading { r.Text = &w; return r }

func (r *reading) number(v float64) *reading {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return r.missing(verdict.Invalid, verdict.New(code.NotFinite))
	}
	r.Value = &v
	return r
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

// read looks an input up in the evidence.
func read(in *plans.Input, ev *Evidence) *reading {
	r := &reading{Input: verdict.Input{Path: in.Path, Unit: in.UnitWord()}}
	if in.Kind == plans.InputTarget {
		return r.number(in.Number)
	}
	if ev.exact() && ev.Set[in] == nil {
		return r.missing(verdict.Inconclusive, verdict.New(code.NotSet))
	}
	var f *Feature
	if ev != nil {
		f = ev.Features[in.Feature]
	}
	if f == nil {
		r.Pending = true
		return r.missing(verdict.Invalid, verdict.New(code.FeatureNotRun).On(in.Feature))
	}
	switch in.Kind {
	case plans.InputLevel:
		return readLevel(r, in, f)
	case plans.InputKnob:
		v, ok := f.Knobs[in.Name]
		if !ok {
			return r.missing(verdict.Invalid, verdict.New(code.KnobUnknown).On(in.Name))
		}
		return r.word(v)
	case plans.InputFeature:
		return readOutcome(r, in, f)
	}
	if ev.exact() {
		return readSet(r, in, f, ev.Set[in])
	}
	switch in.Kind {
	case plans.InputObserved:
		return readObserved(r, in, f)
	case plans.InputFound:
		return readFound(r, in, f)
	case plans.InputMetric:
		if r = readMetric(r, in, f); in.Unsent != nil && r.absent == verdict.Inconclusive {
			u := in.Unsent
			return r.missing(verdict.Inconclusive, verdict.New(code.NotSent, verdict.Text("suite", u.Suite), verdict.Text("protocol", u.Protocol), verdict.List("suites", u.Suites)).On(u.Workload))
		}
		return r
	}
	return r.missing(verdict.Error, verdict.New(code.NoReader, verdict.Text("kind", string(in.Kind))))
}

// readSet reads a value that is set rather than measured. A level that did not pass
// leaves nothing to read, as in a run.
func readSet(r *reading, in *plans.Input, f *Feature, value any) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, f.Cause)
	}
	switch v := value.(type) {
	case float64:
		r = r.number(v)
	case string:
		r = r.word(v)
	case bool:
		r = r.word(strconv.FormatBool(v))
	}
	if r.absent == "" && r.value(in) == nil {
		return r.missing(verdict.Error, verdict.New(code.SaidUnfit, verdict.Text("is", literal(value)), verdict.Text("kind", string(in.Type))).On(in.Path))
	}
	return r
}

// from adds to a reason what a feature says about why it was not measured.
func (f *Feature) from(r verdict.Reason) verdict.Reason {
	if f.Cause.IsZero() {
		return r
	}
	return r.From(f.Cause)
}

// readLevel reads the verdict of a level. Levels that were skipped or broke get invalid
// or error: no evidence either way, so levels.x != 'fail' must not hold for them.
func readLevel(r *reading, in *plans.Input, f *Feature) *reading {
	v, ok := f.Levels[in.Name]
	level := verdict.Text("level", in.Name)
	switch {
	case f.Broken == verdict.Fail && v != verdict.Pass:
		return r.missing(f.Broken, f.Cause)
	case !ok:
		r.Pending = true
		return r.missing(verdict.Invalid, f.from(verdict.New(code.LevelNotRun, verdict.Text("feature", in.Feature)).On(in.Name)))
	case !v.Known():
		return r.missing(verdict.Error, verdict.New(code.UnknownOutcome, level, verdict.Text("word", string(v))).On(in.Feature))
	case !v.Decided():
		return r.missing(v, f.from(verdict.New(code.NoOutcome, level).On(in.Feature).Is(v)))
	}
	return r.word(string(v))
}

// readFound reads a number that a level found for one variant, or two. A missing number
// takes the verdict of the level that should have found it.
func readFound(r *reading, in *plans.Input, f *Feature) *reading {
	base, arm := f.base(in.Against), f.Candidate
	if in.Relation == plans.Base {
		arm = base
	}
	arms := []Arm{arm}
	if in.Comparing() {
		arms = append(arms, base)
	}
	var values [][]float64
	for _, a := range arms {
		v, why := a.found(in)
		if why.IsZero() {
			values = append(values, []float64{v})
			continue
		}
		if v, ok := f.Levels[in.Name]; ok && a.Name == f.Candidate.Name && !v.Unlocks() {
			return readLevel(r, in, f)
		}
		if f.Broken != "" {
			return r.missing(f.Broken, f.Cause)
		}
		return r.missing(verdict.Invalid, why)
	}
	r.N = 1
	if len(values) == 1 {
		return r.number(values[0][0])
	}
	r.BaseN = 1
	v, err := r.relate(in, values[0], values[1])
	if err != nil {
		return r.missing(verdict.Invalid, verdict.OfError(err))
	}
	return r.number(v)
}

// readOutcome reads feature["x"].verdict, .accepted or .decided. As with levels, a
// locked, invalid or broken feature has no outcome that a rule could read, so neither
// "not accepted" nor "not decided" holds just because nothing was measured. What is left
// of .decided is true.
func readOutcome(r *reading, in *plans.Input, f *Feature) *reading {
	switch {
	case f.Outcome == "":
		r.Pending = true
		return r.missing(verdict.Invalid, f.from(verdict.New(code.FeatureUndecided).On(in.Feature)))
	case !f.Outcome.Known():
		return r.missing(verdict.Error, verdict.New(code.UnknownOutcome, verdict.Text("word", string(f.Outcome))).On(in.Feature))
	case !f.Outcome.Decided():
		return r.missing(f.Outcome, f.from(verdict.New(code.NoOutcome).On(in.Feature).Is(f.Outcome)))
	case f.Accepted && !f.Outcome.Unlocks():
		return r.missing(verdict.Error, verdict.New(code.AcceptedAnyway).On(in.Feature).Is(f.Outcome))
	}
	switch in.Name {
	case "verdict":
		return r.word(string(f.Outcome))
	case "accepted":
		return r.word(strconv.FormatBool(f.Accepted))
	case "decided":
		return r.word("true")
	}
	return r.missing(verdict.Error, verdict.New(code.NoSuchField, verdict.Text("name", in.Name)))
}

// readMetric reads a metric from the launches of one or two arms.
func readMetric(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, f.Cause)
	}
	base, arm := f.base(in.Against), f.Candidate
	if in.Relation == plans.Base {
		arm = base
	}
	own, why := collect(arm, in)
	r.own = own
	r.N, r.NRequests, r.PerLaunch, r.Samples = len(own.values), own.requests, own.values, own.samples()
	if why != nil {
		return r.lacks(why, in)
	}
	if r.stale = arm.stale(); !in.Comparing() {
		v, err := r.single(in, own.values)
		if err != nil {
			return r.missing(verdict.Invalid, verdict.OfError(err))
		}
		return r.number(v)
	}
	other, why := collect(base, in)
	r.base = other
	r.BaseN, r.BasePerLaunch = len(other.values), other.values
	r.Samples = append(r.Samples, other.samples()...)
	if why == nil {
		why = own.incomparable(other, in)
	}
	if why != nil {
		return r.lacks(why, in)
	}
	if r.stale == "" {
		r.stale = base.stale()
	}
	v, err := r.relate(in, own.values, other.values)
	if err != nil {
		return r.missing(verdict.Invalid, verdict.OfError(err))
	}
	return r.number(v)
}

// lacks gives up on a metric. If no launch was made yet, and the plan itself allows some,
// launches may still bring it.
func (r *reading) lacks(why *lack, in *plans.Input) *reading {
	r.unmeasured = why.unmeasured && in.Unsent == nil
	r.Pending = r.unmeasured
	return r.missing(why.verdict, why.reason)
}

// single turns the launches' values of one arm into the number that a rule sees.
func (r *reading) single(in *plans.Input, own []float64) (float64, error) {
	switch {
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

// relate turns the launches' values of two arms into the number that a rule sees.
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

// geometric reports whether a metric is averaged over launches in logs, as speeds, times
// and sizes are. Counts and spreads are not: a geometric mean would hide the one launch
// that crashed a hundred times.
func geometric(in *plans.Input) bool {
	return in.Better != "" && !in.MayBeZero() && in.Stat != "std" && in.Stat != "cv"
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

// readObserved reads a string or bool that the candidate's engine reports about itself.
// All its launches must report it, and agree: a launch that does not might have had any
// value.
func readObserved(r *reading, in *plans.Input, f *Feature) *reading {
	if f.Broken != "" {
		return r.missing(f.Broken, f.Cause)
	}
	launches := f.Candidate.Launches
	if in.Words != "" {
		if launches = nil; f.Candidate.Qualified == nil {
			return r.missing(verdict.Invalid, verdict.New(code.Unqualified, verdict.Text("metric", in.Name)).On(f.Candidate.Name))
		}
		launches = []Launch{*f.Candidate.Qualified}
	}
	if len(launches) == 0 {
		r.unmeasured, r.Pending = true, true
		return r.missing(verdict.Inconclusive, verdict.New(code.Unmeasured).On(f.Candidate.Name))
	}
	var value any
	for _, l := range launches {
		v, ok := l.Observed[in.Name]
		switch {
		case !ok || v == nil:
			return r.missing(verdict.Inconclusive, verdict.New(code.Unsaid, verdict.Text("name", in.Name)).On(l.ID).From(l.unobserved(in.Name)))
		case value != nil && v != value:
			return r.missing(verdict.Invalid, verdict.New(code.SaidApart, verdict.Text("name", in.Name),
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
	return r.missing(verdict.Invalid, verdict.New(code.SaidUnfit, verdict.Text("is", literal(value)), verdict.Text("kind", string(in.Type))).On(in.Name))
}

// unobserved is why a launch does not report something.
func (l Launch) unobserved(name string) verdict.Reason {
	if why := l.Unobserved[name]; !why.IsZero() {
		return why
	}
	return verdict.New(code.NotLookedFor)
}

// literal is an observed value in plan syntax.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// taken is one statistic of every launch of an arm.
type taken struct {
	arm      Arm
	values   []float64
	requests int
	// unit and correction are those of all its launches.
	unit, correction string
}

// samples are the digests of the raw samples that the values rest on.
func (t taken) samples() (digests []string) {
	for i := range t.values {
		if sum := t.arm.Launches[i].Samples; sum != "" {
			digests = append(digests, sum)
		}
	}
	return digests
}

// lack is why an arm does not yield a number.
type lack struct {
	verdict verdict.Verdict
	reason  verdict.Reason
	// unmeasured is set if the arm has no launch at all.
	unmeasured bool
}

// unknown is for what a launch lacks, invalid for what is wrong with it.
func unknown(why verdict.Reason) *lack { return &lack{verdict: verdict.Inconclusive, reason: why} }
func invalid(why verdict.Reason) *lack { return &lack{verdict: verdict.Invalid, reason: why} }

// needs is the statistic that every launch must have. Counts rest on the median: a launch
// without one measured nothing that could be counted.
func needs(in *plans.Input) string {
	if in.Counts() || in.Stat == "" {
		return "median"
	}
	return in.Stat
}

// collect takes one statistic from every launch of an arm. A launch without it makes the
// whole arm incomplete: the missing value might have been the bad one.
func collect(a Arm, in *plans.Input) (taken, *lack) {
	t := taken{arm: a}
	address := in.LaunchAddress()
	metric := verdict.Text("metric", address)
	if !a.Lost.IsZero() {
		return t, unknown(a.Lost)
	}
	if len(a.Launches) == 0 {
		return t, &lack{verdict.Inconclusive, verdict.New(code.Unmeasured).On(a.Name), true}
	}
	first := a.Launches[0].Metrics[address]
	t.unit, t.correction = first.Unit, first.Correction
	t.values = make([]float64, 0, len(a.Launches))
	for i := range a.Launches {
		l := &a.Launches[i]
		s := l.Metrics[address]
		v, why := valueOf(l, s, in)
		switch {
		case why != nil:
			return taken{arm: a}, why
		case s.Correction != t.correction:
			return taken{arm: a}, invalid(verdict.New(code.CorrectedApart, metric, verdict.Text("is", s.Correction), verdict.Text("was", t.correction)).On(l.ID))
		case s.Unit != t.unit:
			return taken{arm: a}, invalid(verdict.New(code.UnitsApart, metric, verdict.Text("is", s.Unit), verdict.Text("was", t.unit)).On(l.ID))
		}
		t.values = append(t.values, v)
		t.requests += s.Requests
	}
	return t, nil
}

// valueOf is the statistic of one launch.
func valueOf(l *Launch, s measure.Summary, in *plans.Input) (float64, *lack) {
	stat := needs(in)
	if s.N == 0 {
		return 0, unknown(l.without(in.LaunchAddress()))
	}
	v, ok := s.Stats[stat]
	switch least := measure.LeastToDecide(stat); {
	case !ok && s.N >= least:
		return 0, unknown(verdict.New(code.StatLacking, verdict.Text("stat", stat), verdict.Int("samples", s.N)).On(l.ID))
	case s.N < least:
		return 0, unknown(verdict.New(code.SamplesLacking, verdict.Int("samples", s.N), verdict.Int("least", least)).On(l.ID))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, unknown(verdict.New(code.StatNotFinite, verdict.Text("metric", in.LaunchAddress()), verdict.Text("stat", stat)).On(l.ID))
	case in.Stat == "n_requests" && s.Requests < 1:
		return 0, unknown(verdict.New(code.RequestsUnknown, verdict.Text("metric", in.LaunchAddress())).On(l.ID))
	}
	return v, nil
}

// incomparable says why two arms do not compare; nil if they do.
func (t taken) incomparable(base taken, in *plans.Input) *lack {
	apart := func(c code.Code, is, was string) *lack {
		return invalid(verdict.New(c, verdict.Text("metric", in.LaunchAddress()), verdict.Text("is", is), verdict.Text("was", was), verdict.Text("against", base.arm.Name)).On(t.arm.Name))
	}
	switch {
	case t.unit != base.unit:
		return apart(code.ArmsUnitsApart, t.unit, base.unit)
	case t.correction != base.correction:
		return apart(code.ArmsCorrectedApart, t.correction, base.correction)
	}
	return nil
}

// noRatio names the launch whose value has no log, or returns the error unchanged if
// there is none.
func noRatio(err error, arms ...taken) error {
	for _, t := range arms {
		for i, v := range t.values {
			if !(v > 0) {
				return fault(verdict.New(code.NotAboveZero, verdict.Text("arm", t.arm.Name), verdict.Num("value", v, "")).On(t.arm.Launches[i].ID))
			}
		}
	}
	return err
}
