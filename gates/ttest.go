package gates

import (
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// ttest tests a claim by the sequential t-test over the launches that it reads. It
// returns an error if the claim cannot be tested with them, which makes the rule invalid.
func (d *decider) ttest(c *plans.Compare, r *reading, sh share) (*verdict.Test, error) {
	q, err := d.question(c, r.own, r.base)
	if err != nil {
		return nil, err
	}
	first := stats.Unrecorded
	switch {
	case q.recorded && c.Form == verdict.Ratio:
		first = stats.TwoLaunches
	case q.recorded:
		first = stats.Recorded
	}
	f, most, falsePass := d.feature(c.Metric), d.most(c.Metric), d.settings.FalsePass
	if f != nil && f.Try > 1 {
		left := false
		if falsePass, left = stats.AlphaForTry(falsePass, f.Try); !left {
			return nil, fault(TryNote(c.Metric.Feature, f.Try, d.settings.FalsePass))
		}
		sh.parts = append(slices.Clone(sh.parts), verdict.Share{Of: verdict.ShareTry, N: f.Try})
	}
	design, err := stats.DesignFor(falsePass, d.settings.FalseFail, min(d.settings.Min, most), most, first)
	if err != nil {
		return nil, err
	}
	q.test.Pass, q.test.Fail = design.Pass/float64(sh.pass), design.Fail/float64(sh.fail)
	t := describe(c, r, q.pairs)
	gap := stats.UsualGap
	if f != nil && q.noise.Gap > 0 && (t.Against == "" || t.Against == f.Parent.Name) {
		gap = q.noise.Gap
	}
	q.test.FloorDF, q.test.Gap = q.noise.DF, q.scale.gap(q.pairs, gap)
	t.Terms, t.Share, t.Plan, t.First = q.test.Terms, sh.parts, design.Looks, design.First
	switch places := verdict.List("places", distinct(t.Places)); {
	case t.Places == nil:
	case c.Metric.Comparing():
		t.Remarks = append(t.Remarks, verdict.New(code.WithinRounds, places))
	default:
		t.Remarks = append(t.Remarks, verdict.Say("beside.on_each",
			"launches ran on {places:and}: the level must hold on each of them",
			places))
	}
	if len(t.Values) == 0 {
		return t, nil
	}
	outcome, looks, err := stats.Sequential(q.test, design)
	if err != nil {
		return nil, err
	}
	t.Stop, t.Looks = outcome, looks
	for i := range looks {
		looks[i].Own = q.scale.finite(looks[i].Estimate)
	}
	if n := len(looks); n > 0 {
		low, high := q.test.Bounds(looks[n-1], design)
		t.Estimate, t.Low, t.High = looks[n-1].Own, q.scale.finite(low), q.scale.finite(high)
	}
	if q.scale.decreasing {
		t.Low, t.High = t.High, t.Low
	}
	if n := q.noise; n.SD > 0 {
		known := []verdict.Arg{
			verdict.Num("sd", n.SD, shareUnit), verdict.Num("df", n.DF, ""),
			verdict.List("sessions", n.Sessions),
		}
		by := verdict.Say("beside.floored",
			"each arm's standard deviation is taken as at least {sd:2}, by which launches of this engine "+
				"differed before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}): "+
				"stored noise may widen a verdict, never narrow it",
			known...)
		if t.ByRecordedNoise() {
			by = verdict.Say("beside.clear_by",
				"two launches per arm decide by the noise on record: launches of this engine differed by {sd:2} "+
					"before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}), taken "+
					"as 20 times larger for one arm. The effect is at least {margin:2} beyond the threshold, and the "+
					"launches of each arm agree",
				append(known, verdict.Num("margin", math.Expm1(t.Looks[len(t.Looks)-1].Margin), shareUnit))...)
		}
		t.Remarks = append(t.Remarks, by)
	}
	foresee(t, c.Metric.Row, q.scale, design)
	return t, nil
}

// question is a claim about launches as the sequential test takes it, but for its levels.
type question struct {
	test  stats.Question
	scale scale
	pairs pairs
	// noise is the launch noise on record, in logs; recorded is set if it is known well
	// enough to plan with. Else only its gap is, which is in logs whatever the form.
	noise    verdict.Noise
	recorded bool
}

func (d *decider) question(c *plans.Compare, own, base sample) (q question, err error) {
	if q.scale, err = scaleOf(c); err != nil {
		return q, err
	}
	if q.pairs, err = pairUp(own, base, !c.Metric.Comparing()); err != nil {
		return q, err
	}
	if f := d.feature(c.Metric); f != nil {
		q.noise = f.Noise[NoiseKey(c.Metric)]
	}
	n := q.noise
	q.recorded = q.scale.logs && n.DF >= LeastFreedom && n.SD > 0 && !math.IsInf(n.SD, 0)
	if !q.recorded {
		q.noise = verdict.Noise{Gap: n.Gap}
	}
	q.test = stats.Question{
		Single: !c.Metric.Comparing(), Blocks: q.pairs.blocks(), Ticks: q.scale.ticks(c.Metric, own.unit, q.pairs),
		Terms: stats.Terms{Theta: q.scale.theta, Floor: q.noise.SD},
	}
	if q.scale.logs {
		q.test.Screen = math.Log(0.75)
	}
	if q.test.Candidate, err = q.scale.values(q.pairs.own, q.pairs.ownIDs); err != nil {
		return q, err
	}
	q.test.Base, err = q.scale.values(q.pairs.base, q.pairs.baseIDs)
	return q, err
}

// foresee adds to a test that has not passed the estimate that would have, and to an
// undecided one how many launches likely decide it, taking the estimate and standard
// deviation of the last look as the true ones.
func foresee(t *verdict.Test, row *plans.Row, sc scale, d stats.Design) {
	if len(t.Looks) == 0 || t.Stop == stats.Passed {
		return
	}
	l := t.Looks[len(t.Looks)-1]
	if l.DF == 0 {
		return // nothing was tested
	}
	e := stats.Error{Rate: d.FalsePass, Level: t.Pass}
	t.Needed = sc.finite(t.Theta + stats.CriticalDistance(t.Pass, l.SE, l.DF, e.Margin(l.N, t.Gap)))
	if t.Stop == stats.Failed || t.Stop == stats.Screened {
		return
	}
	single, arms := t.Against == "", 2.0
	if single {
		arms = 1
	}
	gap := l.Estimate - t.Theta
	if gap < 0 {
		gap, e = -gap, stats.Error{Rate: d.FalseFail, Level: t.Fail}
	}
	sd := l.SE * math.Sqrt(float64(l.N)/arms)
	n := e.Settling(l.N, gap, t.Gap, sd, single)
	a := argument{test: t, n: n}
	chance, apart, spread := verdict.Num("chance", stats.Likely, shareUnit), verdict.Num("gap", gap, t.Unit),
		verdict.Num("spread", sd, t.Unit)
	if sc.logs {
		apart, spread = verdict.Num("gap", math.Expm1(gap), shareUnit), verdict.Num("spread", math.Expm1(sd), shareUnit)
	}
	most := t.Plan[len(t.Plan)-1]
	switch {
	case n == 0:
		a.n = stats.MostLaunches
		t.Remarks = append(t.Remarks, a.say(code.SettlesNever, apart, spread))
	case n <= most:
		t.Remarks = append(t.Remarks, a.say(code.Settles, chance, apart, spread, verdict.Int("more", n-l.N)))
	default:
		limit := []verdict.Arg{chance, apart, spread, verdict.Int("most", most)}
		if row != nil && *row != plans.BaselineRow { // its step says how many launches it makes
			limit = append(limit, verdict.Text("step", row.Step))
		}
		t.Remarks = append(t.Remarks, a.say(code.Settles, limit...))
	}
}

// describe is a test of a claim before anything is decided.
func describe(c *plans.Compare, r *reading, p pairs) *verdict.Test {
	t := &verdict.Test{
		Relation: string(c.Metric.Relation), Saved: isGainOfLowerBetter(c.Metric),
		Form: c.Form, Metric: c.Metric.LaunchAddress(), Stat: c.Metric.Stat, Unit: r.own.unit, Arm: r.own.arm.Name,
		Against:   r.base.arm.Name,
		Threshold: c.Threshold, More: c.AtLeast, Estimate: r.Value, Stop: stats.Open,
		Values: p.own, Base: p.base, Launches: p.ownIDs, BaseLaunches: p.baseIDs, Rounds: p.rounds, Unpaired: p.left,
	}
	if p.blocks() != nil {
		t.Places = p.places
	}
	return t
}

// NoiseKey is the key under which an input's noise is stored: its address, with the
// statistic if that is not the median.
func NoiseKey(in *plans.Input) string {
	switch in.Stat {
	case "", "median", "p50":
		return in.LaunchAddress()
	}
	return in.LaunchAddress() + "." + in.Stat
}

// LeastFreedom is the degrees of freedom from which launch noise counts as known: then it
// serves as a floor and permits an earlier first look.
const LeastFreedom = 8

// rangeLaunches is how many launches per arm a range needs: with three of each, the whole
// of one lies beyond the whole of the other one time in twenty by chance.
const rangeLaunches = 3

// wholeRange tests a claim about a value that a launch has once and that hardly varies,
// such as memory: it passes if the worst launch of one arm keeps to the limit against the
// best of the other, and fails if even the best against the worst does not. More launches
// only widen the range, so in between it stays undecided.
func (d *decider) wholeRange(c *plans.Compare, r *reading) (*verdict.Test, error) {
	own, base := r.own, r.base
	q := stats.RangeQuestion{
		Candidate: own.values, Base: base.values, Single: !c.Metric.Comparing(), Relative: c.Metric.Ratio(),
		Limit: c.Threshold, More: c.AtLeast, Strict: c.Strict,
	}
	if isGainOfLowerBetter(c.Metric) {
		q.Limit, q.More = -c.Threshold, !c.AtLeast // a gain is the negated change
	}
	outcome, low, high, err := stats.Range(q)
	if err != nil {
		return nil, fault(verdict.Say("launches.no_ratio", "{error}; for values that may be zero use .delta",
			verdict.Err(err)))
	}
	if isGainOfLowerBetter(c.Metric) {
		low, high = -high, -low
	}
	t := describe(c, r, pairs{own: own.values, base: base.values, ownIDs: own.ids(), baseIDs: base.ids()})
	t.Low, t.High = &low, &high
	n, most := len(own.values), d.most(c.Metric)
	if c.Metric.Comparing() {
		n = min(n, len(base.values))
	}
	t.First = max(rangeLaunches, min(d.settings.Min, most))
	switch {
	case outcome == stats.Open:
		t.Stop = stats.Futile
	case n < t.First && t.First > most:
		t.Stop = stats.Ended
	case n >= t.First:
		t.Stop = outcome
	}
	return t, nil
}
