package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Design is how a sequential test is run: where it looks and how sure it must be.
type Design struct {
	// FalsePass and FalseFail are the error rates to keep, Pass and Fail the levels of p
	// at each look that keep them.
	FalsePass, FalseFail float64
	Pass, Fail           float64
	// Looks are in launches per arm, ascending; the last is the end. A look at 1 only
	// screens.
	Looks []int
	// First is the fewest launches per arm at which a look decides by its p values. If it
	// exceeds the last look, only a screen can decide.
	First int
}

// Last is the launches per arm at which the test ends; 0 without looks.
func (d Design) Last() int {
	if len(d.Looks) == 0 {
		return 0
	}
	return d.Looks[len(d.Looks)-1]
}

// Terms are what a question is decided by, as a test records it: on the scale of the test,
// turned so that more is better.
type Terms struct {
	// Theta is the threshold.
	Theta float64 `json:"theta,omitempty"`
	// Pass and Fail are the levels of p at each look; if the error budget is shared they are
	// less than the design's.
	Pass float64 `json:"pass_level,omitempty"`
	Fail float64 `json:"fail_level,omitempty"`
	// Floor bounds the standard deviation of an arm from below: the stored launch noise. 0
	// for none. FloorDF is its degrees of freedom, which only a look at two launches uses.
	Floor   float64 `json:"floor,omitempty"`
	FloorDF float64 `json:"floor_df,omitempty"`
	// Gap is how far apart two speeds of an arm's starts may be, which keeps the first looks
	// from deciding what is near the threshold: see Error.Margin. 0 if there is one.
	Gap float64 `json:"gap,omitempty"`
}

// Question is one comparison, turned so that more is better: the claim is that the mean
// of Candidate minus that of Base is at least Theta. All values are on the scale of the
// test (logs, or as measured).
type Question struct {
	Candidate []float64
	// Base is nil for a test of one arm against a number.
	Base   []float64
	Single bool
	// Blocks is where each round ran, such as on which of several devices; nil if all ran
	// in one.
	Blocks []int
	Terms
	// Ticks bound the standard deviation too, by the number of launches per arm that are looked at: what the
	// measurement resolves as the first, the first two and so on show it, since a later
	// launch must not change an earlier look. nil for none.
	Ticks []float64
	// Screen is how far below Theta one launch per arm must be to fail at once, on the
	// scale of the test: ln 0.75 for ratios (the sign is ignored). 0 for never. Only a
	// look at 1 uses it.
	Screen float64
}

// Look is one look at the data, and how a test records it. If nothing varies, at looks before
// the design's first, and at two launches that do not decide, there are no p values: then SE,
// DF and T are 0 and both p are 1, which decides nothing. (Real ones sum to 1.)
type Look struct {
	N        int     `json:"n"`
	Estimate float64 `json:"estimate"`
	// Own is the estimate in the rule's own number, if who asked has one.
	Own   *float64 `json:"own,omitempty"`
	SE    float64  `json:"se"`
	DF    float64  `json:"df"`
	T     float64  `json:"t"`
	PPass float64  `json:"p_pass"`
	PFail float64  `json:"p_fail"`
	// Chance is the projected chance of any verdict by the last look; 0 if this look
	// decided or is the last.
	Chance float64 `json:"chance,omitempty"`
	// Margin is how far from Theta the estimate must lie, on its side, for this look to
	// decide, whatever p is; 0 if any distance will do.
	Margin float64 `json:"margin,omitempty"`
}

// Outcome is why a test ended, or that it has not.
type Outcome string

const (
	// Passed and Failed: a look decided.
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	// Screened: one launch per arm was so far off that more are not worth it.
	Screened Outcome = "screened"
	// Futile: a verdict has less than 5% chance left.
	Futile Outcome = "futile"
	// Ended: all launches were made.
	Ended Outcome = "ended"
	// Open: more launches follow.
	Open Outcome = "open"
)

// futileBelow is the chance of a verdict below which more launches are futile.
const futileBelow = 0.05

// Sequential decides a question from the launches there are: at each of the design's
// looks it tests the first n launches of each arm. The first look that decides latches,
// whatever came after; so does one that finds more launches futile, without which the
// error rates would be higher. With fewer launches than the last look and no decision it
// is Open.
//
// It returns an error for an arm without launches, values that are not finite and levels
// or looks that make no sense, and never a decision with it.
func Sequential(q Question, d Design) (Outcome, []Look, error) {
	if err := q.check(d); err != nil {
		return Open, nil, err
	}
	outcome, looks, err := q.run(d, nil)
	if err != nil {
		return Open, nil, err
	}
	return outcome, looks, nil
}

// At is one look at the first n launches of each arm, which decides nothing.
func (q *Question) At(n int) (Look, error) {
	if err := q.check(Design{Looks: []int{n}}); err != nil {
		return Look{}, err
	}
	return q.look(n, n >= TwoLaunches, Design{})
}

// run appends the looks.
func (q *Question) run(d Design, looks []Look) (Outcome, []Look, error) {
	have := len(q.Candidate)
	if !q.Single {
		have = min(have, len(q.Base))
	}
	for _, n := range d.Looks {
		if n > have {
			return Open, looks, nil
		}
		l, err := q.look(n, n >= max(d.First, TwoLaunches), d)
		if err != nil {
			return Open, looks, err
		}
		outcome := q.decide(&l, n, d)
		looks = append(looks, l)
		if outcome != Open {
			return outcome, looks, nil
		}
	}
	return Ended, looks, nil
}

// decide is the outcome of one look: Open if the next is to be made. The end is up to the
// caller.
func (q *Question) decide(l *Look, n int, d Design) Outcome {
	switch {
	case l.DF > 0 && l.PPass <= q.Pass && l.Estimate-q.Theta >= l.Margin:
		return Passed
	case l.DF > 0 && l.PFail <= q.Fail && q.Theta-l.Estimate >= l.Margin:
		return Failed
	case n == 1 && q.screens(l.Estimate):
		return Screened
	case n >= LeastLaunches && l.DF > 0 && n < d.Last():
		pass, fail := q.project(*l, d.Last(), d)
		if l.Chance = pass + fail; l.Chance < futileBelow {
			return Futile
		}
	}
	return Open
}

// floor bounds the standard deviation of an arm from below, at a look at n launches.
func (q *Question) floor(n int) float64 {
	if n > len(q.Ticks) {
		return q.Floor
	}
	return max(q.Floor, q.Ticks[n-1])
}

// screens reports whether one launch per arm is so far off that more are not worth it.
// With recorded launch noise it must be off by four times that too, so one bad launch
// does not fail a noisy engine.
func (q *Question) screens(estimate float64) bool {
	arms := 2.0
	if q.Single {
		arms = 1
	}
	far := max(math.Abs(q.Screen), 4*q.floor(1)*math.Sqrt(arms))
	return q.Screen != 0 && estimate-q.Theta < -far
}

func (q *Question) check(d Design) error {
	arms := [][]float64{q.Candidate, q.Base}
	if q.Single {
		arms = arms[:1]
	}
	for _, arm := range arms {
		if err := check(arm); err != nil {
			return err
		}
	}
	for _, x := range append([]float64{q.Theta, q.Floor, q.FloorDF, q.Gap, q.Screen}, q.Ticks...) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("threshold, floor, gap or screen: %w", errNotFinite)
		}
	}
	if q.Floor < 0 || q.Gap < 0 || slices.ContainsFunc(q.Ticks, func(tick float64) bool { return tick < 0 }) {
		return errors.New("the floor of a standard deviation, or the gap of two speeds, is below zero")
	}
	for _, level := range []float64{q.Pass, q.Fail} {
		if !(level > 0 && level < 0.5) {
			return fmt.Errorf("the level %v is not between 0 and 0.5", level)
		}
	}
	if q.Blocks != nil && (len(q.Blocks) != len(q.Candidate) || !q.Single && len(q.Base) != len(q.Candidate)) {
		return fmt.Errorf("%d rounds have %d blocks", len(q.Candidate), len(q.Blocks))
	}
	if len(d.Looks) == 0 || d.Looks[0] < 1 {
		return errors.New("the design has no looks")
	}
	for i, n := range d.Looks[1:] {
		if n <= d.Looks[i] {
			return fmt.Errorf("the looks %v do not ascend", d.Looks)
		}
	}
	return nil
}

// LeastLaunches is the fewest launches per arm for a t-test.
const LeastLaunches = 3

var errSpread = errors.New("the launches lie too far apart to compute their spread")

// look computes the statistic of the first n launches of each arm, with p values if
// tested is set and anything varies.
func (q *Question) look(n int, tested bool, d Design) (Look, error) {
	l := Look{N: n, PPass: 1, PFail: 1}
	l.Estimate = mean(q.Candidate[:n])
	if !q.Single {
		l.Estimate -= mean(q.Base[:n])
	}
	if math.IsInf(l.Estimate, 0) || math.IsNaN(l.Estimate) {
		return l, errSpread
	}
	l.Margin = q.margin(l, d)
	if !tested {
		return l, nil
	}
	if n < LeastLaunches {
		q.clear(&l)
		return l, nil
	}
	if q.blocked(n) {
		err := q.lookInBlocks(&l, n)
		l.Margin = q.margin(l, d) // of one arm, the estimate is another
		return l, err
	}
	raw, floor := q.variances(n), q.floor(n)
	se := math.Sqrt((max(raw[0], floor*floor) + max(raw[1], floor*floor)) / float64(n))
	if q.Single {
		se = max(math.Sqrt(raw[0]), floor) / math.Sqrt(float64(n))
	}
	t := (l.Estimate - q.Theta) / se
	switch {
	case math.IsInf(se, 0) || math.IsNaN(se):
		return l, errSpread
	case !(se > 0) || math.IsInf(t, 0) || math.IsNaN(t):
		return l, nil
	}
	l.SE, l.T, l.DF = se, t, float64(n-1)
	// The degrees of freedom are those of the launches, not of the floor: equal floors
	// would raise them, and a floor may only widen. Arms that tie add none.
	if !q.Single && raw[0]+raw[1] > 0 {
		l.DF = satterthwaite(raw[:], []float64{l.DF, l.DF})
	}
	l.tails()
	return l, nil
}

// tails are the p values of T.
func (l *Look) tails() {
	// One tail is enough: the other is the complement, and rounds to 1 at worst.
	l.PPass, l.PFail = tail(math.Abs(l.T), l.DF), 1
	l.PFail -= l.PPass
	if l.T < 0 {
		l.PPass, l.PFail = l.PFail, l.PPass
	}
}

// variances returns those of the first n launches of candidate and base; the second is 0
// for a test of one arm.
func (q *Question) variances(n int) (v [2]float64) {
	v[0] = Variance(q.Candidate[:n])
	if !q.Single {
		v[1] = Variance(q.Base[:n])
	}
	return v
}

// Bounds are the largest Theta that a look would pass and the smallest that it would fail;
// ±Inf if there is none. They are the most expensive part of a test.
func (q *Question) Bounds(l Look, d Design) (low, high float64) {
	above, below := q.margins(l.N, d)
	switch {
	case l.DF > 0 && q.Single && q.blocked(l.N):
		return q.boundsInBlocks(l, above, below)
	case l.DF > 0:
		return l.Estimate - CriticalDistance(q.Pass, l.SE, l.DF, above),
			l.Estimate + CriticalDistance(q.Fail, l.SE, l.DF, below)
	}
	return math.Inf(-1), math.Inf(1)
}

// CriticalDistance is how far from the threshold an estimate must lie for a look to decide at this
// level, with its standard error, degrees of freedom and margin.
func CriticalDistance(level, se, df, margin float64) float64 {
	return max(Quantile(level, df)*se, margin)
}

// margins returns the margins of a look at n launches per arm, for a pass and a fail.
func (q *Question) margins(n int, d Design) (above, below float64) {
	return Error{Rate: d.FalsePass}.Margin(n, q.Gap), Error{Rate: d.FalseFail}.Margin(n, q.Gap)
}

// margin is that of a look on the side of Theta on which its estimate lies.
func (q *Question) margin(l Look, d Design) float64 {
	above, below := q.margins(l.N, d)
	if l.Estimate < q.Theta {
		return below
	}
	return above
}

// project is the chance of a pass and of a fail by one look at n launches per arm, judged
// from the look l. It takes the standard deviation as the true one, and the true effect
// as spread about the estimate by its standard error: the estimate at n is then normal
// about the present one, and differs from it by what the remaining launches can move it.
// Both are 0 if l has no p values or n is not beyond it.
//
// With s the arms' standard deviation, se is s√(2/n), or s√(1/n) for one arm, and both
// forms come to the same.
func (q *Question) project(l Look, n int, d Design) (pass, fail float64) {
	if !(l.DF > 0 && l.SE > 0) || n <= l.N {
		return 0, 0
	}
	df := float64(2*n - 2)
	switch {
	case q.Single && q.blocked(l.N):
		seen, _ := q.blocks(l.N) // which the end has at least
		df = float64(n - len(seen))
	case q.Single || q.blocked(l.N):
		df = float64(n - 1)
	}
	part := float64(l.N) / float64(n)
	final, move := l.SE*math.Sqrt(part), l.SE*math.Sqrt(1-part)
	gap := l.Estimate - q.Theta
	above, below := q.margins(n, d)
	pass = upper((max(knownQuantile(q.Pass, df)*final, above) - gap) / move)
	fail = upper((max(knownQuantile(q.Fail, df)*final, below) + gap) / move)
	return pass, fail
}

// upper is the upper tail of the normal distribution.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// What two launches per arm need to decide. Their own spread has one degree of freedom
// each, so a t-test has no power, and the recorded noise alone would let a candidate
// decide that varies more than the record. TestRatesOfTwoLaunches shows the error rates
// of these three together.
const (
	// clearRatio is how many times the recorded noise one arm is assumed to vary: the
	// widest ratio that the levels are calibrated for.
	clearRatio = 20
	// clearSpread is how many recorded standard deviations that of an arm's two launches
	// may be: a candidate that varies 20 times as much exceeds it nine times in ten, and
	// one that varies as recorded once in a hundred.
	clearSpread = 2.5
)

// UsualGap is how far apart two speeds are taken to be of an arm whose own starts are not
// on record, in logs: engines were seen with 8%.
var UsualGap = math.Log(1.1)

// clear is a look at two launches per arm. It has p values only if it decides: by
// Student's t with the record's degrees of freedom, as if one arm varied clearRatio times
// as much, beyond the margin, and only if the launches of each arm agree. Mean and
// difference of two normal launches are independent, so launches that agree by chance are
// no likelier to be far off. Launches on different devices say nothing about that.
func (q *Question) clear(l *Look) {
	floor := q.floor(l.N)
	if q.Single || q.blocked(l.N) || !(q.FloorDF > 0) || !(floor > 0) {
		return
	}
	gap, level := l.Estimate-q.Theta, q.Pass
	if gap < 0 {
		level = q.Fail
	}
	v := q.variances(l.N)
	se := clearError(floor)
	if math.Sqrt(max(v[0], v[1])) > clearSpread*floor ||
		math.Abs(gap) < CriticalDistance(level, se, q.FloorDF, l.Margin) {
		return
	}
	l.SE, l.T, l.DF = se, gap/se, q.FloorDF
	l.PPass, l.PFail = tail(math.Abs(l.T), l.DF), 1
	l.PFail -= l.PPass
	if gap < 0 {
		l.PPass, l.PFail = l.PFail, l.PPass
	}
}

// clearError is the standard error of a difference of means of two launches, from the
// recorded standard deviation.
func clearError(sd float64) float64 { return sd * math.Sqrt((1+clearRatio*clearRatio)/2.0) }

// ClearGap is how far beyond the threshold an effect must lie for two launches per arm to
// decide it, if the record has this standard deviation and degrees of freedom, on the
// scale of the test.
func (e Error) ClearGap(sd, df, gap float64) float64 {
	return CriticalDistance(e.Level, clearError(sd), df, e.Margin(TwoLaunches, gap))
}
