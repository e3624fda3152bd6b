package gates

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// ttest decides a claim by the sequential t-test over the launches that it reads. It
// returns an error if the claim cannot be tested with them, which makes the rule invalid.
func (d *decider) ttest(c *plans.Compare, r *reading, sh share) (verdict.Verdict, *verdict.Test, error) {
	q, err := d.question(c, r.own, r.base)
	if err != nil {
		return "", nil, err
	}
	first := stats.Unrecorded
	switch {
	case q.recorded && c.Form == verdict.Ratio:
		first = stats.Clear
	case q.recorded:
		first = stats.Recorded
	}
	design, err := d.design(c.Metric, first)
	if err != nil {
		return "", nil, err
	}
	q.test.Pass, q.test.Fail = design.Pass/float64(sh.pass), design.Fail/float64(sh.fail)
	f := d.feature(c.Metric)
	if f != nil && f.Try > 1 {
		sh.parts = append(slices.Clone(sh.parts), verdict.Share{Of: verdict.ShareTry, N: f.Try})
	}
	t := describe(c, r, q.pairs)
	t.Theta, t.Pass, t.Fail, t.Share = q.test.Theta, q.test.Pass, q.test.Fail, sh.parts
	t.Plan, t.First, t.Floor, t.FloorDF = design.Looks, design.First, q.noise.SD, q.noise.DF
	t.Gap = q.scale.gap(q.pairs, stats.UsualGap)
	if f != nil && q.noise.Gap > 0 && (t.Against == "" || t.Against == f.Parent.Name) {
		t.Gap = q.scale.gap(q.pairs, q.noise.Gap)
	}
	q.test.FloorDF, q.test.Gap = q.noise.DF, t.Gap
	switch places := verdict.List("places", distinct(t.Places)); {
	case t.Places == nil:
	case c.Metric.Comparing():
		t.Beside = append(t.Beside, verdict.New(code.WithinRounds, places))
	default:
		t.Beside = append(t.Beside, verdict.Say("beside.on_each",
			"launches ran on {places:and}: the level must hold on each of them",
			places))
	}
	if len(t.Values) == 0 {
		return verdict.Inconclusive, t, nil
	}
	outcome, looks, err := stats.Sequential(q.test, design)
	if err != nil {
		return "", nil, err
	}
	t.Stop = verdict.Stop(outcome)
	for _, l := range looks {
		margin := l.Above
		if l.Estimate < t.Theta {
			margin = l.Below
		}
		t.Looks = append(t.Looks, verdict.Look{
			N: l.N, Estimate: l.Estimate, Own: q.scale.finite(l.Estimate), SE: l.SE, DF: l.DF, T: l.T, PPass: l.PPass, PFail: l.PFail, Chance: l.Chance, Margin: margin,
		})
		t.Estimate = q.scale.finite(l.Estimate) // and bounds of the last
		t.Low, t.High = q.scale.bounds(l.Low, l.High)
	}
	if n := q.noise; n.SD > 0 {
		known := []verdict.Arg{verdict.Num("sd", n.SD, shareUnit), verdict.Num("df", n.DF, ""), verdict.List("sessions", n.Sessions)}
		by := verdict.Say("beside.floored",
			"each arm's standard deviation is taken as at least {sd:2}, by which launches of this engine "+
				"differed before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}): "+
				"stored noise may widen a verdict, never narrow it",
			known...)
		if t.Clear() {
			by = verdict.Say("beside.clear_by",
				"two launches per arm decide by the noise on record: launches of this engine differed by {sd:2} "+
					"before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}), taken "+
					"as 20 times larger for one arm. The effect is at least {margin:2} beyond the threshold, and the "+
					"launches of each arm agree",
				append(known, verdict.Num("margin", math.Expm1(t.Looks[len(t.Looks)-1].Margin), shareUnit))...)
		}
		t.Beside = append(t.Beside, by)
	}
	foresee(t, q.scale, design)
	switch outcome {
	case stats.Passed:
		return verdict.Pass, t, nil
	case stats.Failed, stats.Screened:
		return verdict.Fail, t, nil
	}
	return verdict.Inconclusive, t, nil
}

// question is a claim about launches as the sequential test takes it, but for its levels.
type question struct {
	test  stats.Question
	scale scale
	pairs pairs
	// noise is the launch noise on record; recorded is set if it is known well enough to
	// plan with.
	noise    verdict.Noise
	recorded bool
}

func (d *decider) question(c *plans.Compare, own, base sample) (q question, err error) {
	if q.scale, err = scaleOf(c); err != nil {
		return q, err
	}
	if q.pairs, err = paired(own, base, !c.Metric.Comparing()); err != nil {
		return q, err
	}
	q.noise, q.recorded = d.noise(c)
	q.test = stats.Question{
		Single: !c.Metric.Comparing(), Theta: q.scale.theta, Blocks: q.pairs.blocks(),
		Floor: max(q.noise.SD, tickOf(c.Metric, own.unit, q.scale, q.pairs)/math.Sqrt(12)),
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
func foresee(t *verdict.Test, sc scale, d stats.Design) {
	if len(t.Looks) == 0 || t.Stop == verdict.StopPass {
		return
	}
	l := t.Looks[len(t.Looks)-1]
	if l.DF == 0 {
		return // nothing was tested
	}
	e := stats.Error{Rate: d.FalsePass, Level: t.Pass}
	t.Needed = sc.finite(t.Theta + stats.Reach(t.Pass, l.SE, l.DF, e.Margin(l.N, t.Gap)))
	if t.Stop == verdict.StopFail || t.Stop == verdict.StopScreen {
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
	chance, apart, spread := verdict.Num("chance", stats.Likely, shareUnit), verdict.Num("gap", gap, t.Unit), verdict.Num("spread", sd, t.Unit)
	if sc.logs {
		apart, spread = verdict.Num("gap", math.Expm1(gap), shareUnit), verdict.Num("spread", math.Expm1(sd), shareUnit)
	}
	most := t.Plan[len(t.Plan)-1]
	switch {
	case n == 0:
		a.n = stats.MostLaunches
		t.Beside = append(t.Beside, a.say(code.SettlesNever, apart, spread))
	case n <= most:
		t.Beside = append(t.Beside, a.say(code.Settles, chance, apart, spread, verdict.Int("more", n-l.N)))
	default:
		t.Beside = append(t.Beside, a.say(code.Settles, chance, apart, spread, verdict.Int("most", most)))
	}
}

// describe is a test of a claim before anything is decided.
func describe(c *plans.Compare, r *reading, p pairs) *verdict.Test {
	t := &verdict.Test{
		Relation: string(c.Metric.Relation), Saved: saving(c.Metric),
		Form: c.Form, Metric: c.Metric.LaunchAddress(), Stat: c.Metric.Stat, Unit: r.own.unit, Arm: r.own.arm.Name, Against: r.base.arm.Name,
		Threshold: c.Threshold, More: c.AtLeast, Estimate: r.Value, Stop: verdict.StopOpen,
		Values: p.own, Base: p.base, Launches: p.ownIDs, BaseLaunches: p.baseIDs, Rounds: p.rounds, Unpaired: p.left,
	}
	if p.blocks() != nil {
		t.Places = p.places
	}
	return t
}

// noise is the stored launch noise, in logs, of the metric that a claim tests; recorded
// reports whether it is known well enough to plan with. Gap is in logs whatever the form.
func (d *decider) noise(c *plans.Compare) (n verdict.Noise, recorded bool) {
	key := NoiseKey(c.Metric)
	n = d.settings.Noise[key]
	if f := d.feature(c.Metric); f != nil && f.Noise != nil {
		n = f.Noise[key]
	}
	if c.Form != verdict.Ratio && c.Form != verdict.LogLevel || !(n.DF >= LeastFreedom) || !(n.SD > 0) || math.IsInf(n.SD, 0) {
		return verdict.Noise{Gap: n.Gap}, false
	}
	return n, true
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

// tickOf is the resolution of the measurement, on the scale of the test. In logs it
// weighs most where values are smallest.
func tickOf(in *plans.Input, unit string, sc scale, p pairs) float64 {
	if len(p.own) == 0 {
		return 0
	}
	values := slices.Concat(p.own, p.base)
	tick := resolution(unit, wholeByName(in), values)
	if measure.OfCommand(in.Cell) {
		tick = max(tick, printed(unit, values))
	}
	if sc.logs {
		return tick / slices.Min(values)
	}
	return tick
}

// pairs are the launches that a test may look at, by round: those of one arm, or of two
// arms that ran side by side.
type pairs struct {
	own, base       []float64
	ownIDs, baseIDs []string
	rounds          []int
	// places are where the rounds ran.
	places []string
	// left are launches of a round that only one arm has.
	left []string
}

// paired sorts one arm's launches by round, or pairs those of two arms.
func paired(own, base sample, single bool) (p pairs, err error) {
	of, err := own.byRound()
	if err != nil {
		return p, err
	}
	others, err := base.byRound()
	if err != nil {
		return p, err
	}
	n := len(of)
	p.own, p.ownIDs, p.rounds, p.places = make([]float64, 0, n), make([]string, 0, n), make([]int, 0, n), make([]string, 0, n)
	if !single {
		p.base, p.baseIDs = make([]float64, 0, n), make([]string, 0, n)
	}
	var left []string // of the base
	for _, i := range of {
		l := &own.arm.Launches[i]
		for ; len(others) > 0 && base.arm.Launches[others[0]].Round < l.Round; others = others[1:] {
			left = append(left, base.arm.Launches[others[0]].ID)
		}
		if !single {
			if len(others) == 0 || base.arm.Launches[others[0]].Round != l.Round {
				p.left = append(p.left, l.ID)
				continue
			}
			o := &base.arm.Launches[others[0]]
			// One that has no place cannot be moved, and stood where there is one alone.
			if l.Place != o.Place && l.Place != "" && o.Place != "" {
				return p, fault(verdict.New(code.RoundApart, verdict.Int("round", l.Round), verdict.List("places", []string{l.Place, o.Place})).On(own.arm.Name))
			}
			p.base, p.baseIDs = append(p.base, base.values[others[0]]), append(p.baseIDs, o.ID)
			others = others[1:]
		}
		p.own, p.ownIDs = append(p.own, own.values[i]), append(p.ownIDs, l.ID)
		p.rounds, p.places = append(p.rounds, l.Round), append(p.places, l.Place)
	}
	for _, j := range others {
		left = append(left, base.arm.Launches[j].ID)
	}
	p.left = append(p.left, left...)
	return p, nil
}

// blocks are the places of the rounds as numbers; nil if there is only one.
func (p pairs) blocks() (out []int) {
	seen := distinct(p.places)
	if len(seen) < 2 {
		return nil
	}
	for _, place := range p.places {
		out = append(out, slices.Index(seen, place))
	}
	return out
}

// distinct returns the names of places, each once.
func distinct(places []string) (names []string) {
	for _, on := range places {
		if !slices.Contains(names, on) {
			names = append(names, on)
		}
	}
	return names
}

// byRound are the indexes of an arm's launches by round. It returns an error if it has a
// round twice: then it is unknown which one ran beside the other arm's.
func (s sample) byRound() ([]int, error) {
	all := s.arm.Launches
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].Round, all[j].Round) })
	for n := 1; n < len(order); n++ {
		if l, o := &all[order[n]], &all[order[n-1]]; l.Round == o.Round {
			return nil, fault(verdict.Say("launches.round_twice",
				"{subject} has two launches of round {round}, {launches:and}: unknown which one is paired with "+
					"the other arm's",
				verdict.Int("round", l.Round), verdict.List("launches", []string{o.ID, l.ID})).On(s.arm.Name))
		}
	}
	return order, nil
}

// rangeLaunches is how many launches per arm a range needs: with three of each, the whole
// of one lies beyond the whole of the other one time in twenty by chance.
const rangeLaunches = 3

// wholeRange decides a claim about a value that a launch has once and that hardly varies,
// such as memory: it passes if the worst launch of one arm keeps to the limit against the
// best of the other, and fails if even the best against the worst does not. More launches
// only widen the range, so in between it stays undecided.
func (d *decider) wholeRange(c *plans.Compare, r *reading) (verdict.Verdict, *verdict.Test, error) {
	own, base := r.own, r.base
	q := stats.RangeQuestion{
		Candidate: own.values, Base: base.values, Single: !c.Metric.Comparing(), Relative: c.Metric.Ratio(),
		Limit: c.Threshold, More: c.AtLeast, Strict: c.Strict,
	}
	if saving(c.Metric) {
		q.Limit, q.More = -c.Threshold, !c.AtLeast // a gain is the negated change
	}
	outcome, low, high, err := stats.Range(q)
	if err != nil {
		return "", nil, fault(verdict.Say("launches.no_ratio", "{error}; for values that may be zero use .delta",
			verdict.Err(err)))
	}
	if saving(c.Metric) {
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
		t.Stop = verdict.StopFutile
	case n < t.First && t.First > most:
		t.Stop = verdict.StopEnd
	case n < t.First:
	case outcome == stats.Passed:
		t.Stop = verdict.StopPass
		return verdict.Pass, t, nil
	case outcome == stats.Failed:
		t.Stop = verdict.StopFail
		return verdict.Fail, t, nil
	}
	return verdict.Inconclusive, t, nil
}

func (s sample) ids() (list []string) {
	for _, l := range s.arm.Launches {
		list = append(list, l.ID)
	}
	return list
}
