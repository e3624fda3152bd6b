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
	sc, err := scaleOf(c)
	if err != nil {
		return "", nil, err
	}
	p, err := paired(r.own, r.base, !c.Metric.Comparing())
	if err != nil {
		return "", nil, err
	}
	floor, recorded := d.noise(c)
	first := stats.Unrecorded
	switch {
	case recorded && c.Form == verdict.Ratio:
		first = stats.Clear
	case recorded:
		first = stats.Recorded
	}
	design, err := d.design(c.Metric, first)
	if err != nil {
		return "", nil, err
	}
	q, err := asked(c, sc, p, design, sh)
	if err != nil {
		return "", nil, err
	}
	if f := d.feature(c.Metric); f != nil && f.Try > 1 {
		sh.parts = append(slices.Clone(sh.parts), verdict.Share{Of: verdict.ShareTry, N: f.Try})
	}
	t := describe(c, r, p)
	t.Theta, t.Pass, t.Fail, t.Share = sc.theta, q.Pass, q.Fail, sh.parts
	t.Plan, t.First, t.Floor, t.FloorDF, t.Gap = design.Looks, design.First, floor.SD, floor.DF, sc.gap(p, stats.UsualGap)
	if f := d.feature(c.Metric); f != nil && floor.Gap > 0 && (t.Against == "" || t.Against == f.Parent.Name) {
		t.Gap = sc.gap(p, floor.Gap)
	}
	tick := d.tickOf(c.Metric, r.own.unit, sc, p)
	if equal := tied(t); len(equal) > 0 {
		t.Resolution = tick
		t.Beside = append(t.Beside, spreadOf(t, sc, equal))
	}
	t.Beside = append(t.Beside, placesOf(c, sc, p)...)
	q.Floor, q.FloorDF, q.Gap = max(floor.SD, tick/math.Sqrt(12)), floor.DF, t.Gap
	if len(p.own) == 0 {
		return verdict.Inconclusive, t, nil
	}
	if known := withinLaunch(t, r); !known.IsZero() {
		t.Beside = append(t.Beside, known)
	}
	outcome, looks, err := stats.Sequential(q, design)
	if err != nil {
		return "", nil, err
	}
	t.Stop = verdict.Stop(outcome)
	recordLooks(t, sc, looks)
	if floor.SD > 0 {
		by := verdict.New(code.Floored, verdict.Num("sd", floor.SD, shareUnit), verdict.Num("df", floor.DF, ""), verdict.List("sessions", floor.Sessions))
		if t.Clear() {
			by.Code, by.Args["margin"] = code.ClearBy, verdict.Num("", math.Expm1(t.Looks[len(t.Looks)-1].Margin), shareUnit).Value
		}
		t.Beside = append(t.Beside, by)
	}
	foresee(t, sc, design)
	switch outcome {
	case stats.Passed:
		return verdict.Pass, t, nil
	case stats.Failed, stats.Screened:
		return verdict.Fail, t, nil
	}
	return verdict.Inconclusive, t, nil
}

// asked is a claim as the test takes it: on its scale, with its part of the levels.
func asked(c *plans.Compare, sc scale, p pairs, design stats.Design, sh share) (q stats.Question, err error) {
	q = stats.Question{
		Single: !c.Metric.Comparing(), Theta: sc.theta,
		Pass: design.Pass / float64(sh.pass), Fail: design.Fail / float64(sh.fail),
	}
	if sc.logs {
		q.Screen = math.Log(0.75)
	}
	if q.Candidate, err = sc.values(p.own, p.ownIDs); err != nil {
		return q, err
	}
	q.Base, err = sc.values(p.base, p.baseIDs)
	q.Blocks = p.blocks()
	return q, err
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

// recordLooks records the result of each look, and the estimate and bounds of the last.
func recordLooks(t *verdict.Test, sc scale, looks []stats.Look) {
	for _, l := range looks {
		margin := l.Above
		if l.Estimate < t.Theta {
			margin = l.Below
		}
		t.Looks = append(t.Looks, verdict.Look{
			N: l.N, Estimate: l.Estimate, Own: sc.finite(l.Estimate), SE: l.SE, DF: l.DF, T: l.T, PPass: l.PPass, PFail: l.PFail, Chance: l.Chance, Margin: margin,
		})
	}
	if n := len(looks); n > 0 {
		last := looks[n-1]
		t.Estimate = sc.finite(last.Estimate)
		t.Low, t.High = sc.bounds(last.Low, last.High)
	}
}

// describe is a test of a claim before anything is decided.
func describe(c *plans.Compare, r *reading, p pairs) *verdict.Test {
	return &verdict.Test{
		Relation: string(c.Metric.Relation), Saved: saving(c.Metric),
		Form: c.Form, Metric: c.Metric.LaunchAddress(), Stat: c.Metric.Stat, Unit: r.own.unit, Arm: r.own.arm.Name, Against: r.base.arm.Name,
		Threshold: c.Threshold, More: c.AtLeast, Estimate: r.Value, Stop: verdict.StopOpen,
		Values: p.own, Base: p.base, Launches: p.ownIDs, BaseLaunches: p.baseIDs, Rounds: p.rounds, Unpaired: p.left, Places: p.several(),
	}
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
func (d *decider) tickOf(in *plans.Input, unit string, sc scale, p pairs) float64 {
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
	// left are launches with none beside them.
	left []string
}

// paired sorts one arm's launches by round, or pairs those of two arms. It returns an
// error if an arm has a round twice: then it is unknown which one ran beside the other
// arm's.
func paired(own, base taken, single bool) (pairs, error) {
	var p pairs
	count := roundless(own) && (single || roundless(base))
	of, err := byRound(own, count)
	if err != nil {
		return p, err
	}
	if single {
		for _, l := range of {
			p.add(own, l)
		}
		return p, nil
	}
	others, err := byRound(base, count)
	if err != nil {
		return p, err
	}
	p = pairs{
		own: make([]float64, 0, len(of)), ownIDs: make([]string, 0, len(of)), rounds: make([]int, 0, len(of)), places: make([]string, 0, len(of)),
		base: make([]float64, 0, len(of)), baseIDs: make([]string, 0, len(of)),
	}
	for _, l := range of {
		i := slices.IndexFunc(others, func(o placed) bool { return o.round == l.round })
		if i < 0 {
			p.left = append(p.left, own.arm.Launches[l.index].ID)
			continue
		}
		// One that has no place cannot be moved, and stood where there is one alone.
		if on, beside := own.arm.Launches[l.index].Place, base.arm.Launches[others[i].index].Place; on != beside && on != "" && beside != "" {
			return p, fault(verdict.New(code.RoundApart, verdict.Int("round", l.round), verdict.List("places", []string{on, beside})).On(own.arm.Name))
		}
		p.add(own, l)
		p.base = append(p.base, base.values[others[i].index])
		p.baseIDs = append(p.baseIDs, base.arm.Launches[others[i].index].ID)
		others = slices.Delete(others, i, i+1)
	}
	for _, o := range others {
		p.left = append(p.left, base.arm.Launches[o.index].ID)
	}
	return p, nil
}

func (p *pairs) add(t taken, l placed) {
	p.own = append(p.own, t.values[l.index])
	p.ownIDs = append(p.ownIDs, t.arm.Launches[l.index].ID)
	p.rounds = append(p.rounds, l.round)
	p.places = append(p.places, t.arm.Launches[l.index].Place)
}

// several are the places of the rounds if there is more than one.
func (p pairs) several() []string {
	if p.blocks() == nil {
		return nil
	}
	return p.places
}

// placed is a launch of an arm with its round.
type placed struct{ round, index int }

// byRound lists an arm's launches by round. Arms without rounds (imported numbers) count
// their launches in order.
func byRound(t taken, count bool) ([]placed, error) {
	out := make([]placed, len(t.arm.Launches))
	for i := range t.arm.Launches {
		round := t.arm.Launches[i].Round
		if count {
			round = i + 1
		}
		out[i] = placed{round, i}
	}
	slices.SortStableFunc(out, func(a, b placed) int { return cmp.Compare(a.round, b.round) })
	for i := 1; i < len(out); i++ {
		if out[i].round == out[i-1].round {
			return nil, fault(verdict.New(code.RoundTwice, verdict.Int("round", out[i].round),
				verdict.List("launches", []string{t.arm.Launches[out[i-1].index].ID, t.arm.Launches[out[i].index].ID})).On(t.arm.Name))
		}
	}
	return out, nil
}

func roundless(t taken) bool {
	for i := range t.arm.Launches {
		if t.arm.Launches[i].Round != 0 {
			return false
		}
	}
	return true
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
		return "", nil, fault(verdict.New(code.RatioImpossible, verdict.Err(err)))
	}
	if saving(c.Metric) {
		low, high = -high, -low
	}
	t := describe(c, r, pairs{own: own.values, base: base.values, ownIDs: ids(own), baseIDs: ids(base)})
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

func ids(t taken) (list []string) {
	for _, l := range t.arm.Launches {
		list = append(list, l.ID)
	}
	return list
}
