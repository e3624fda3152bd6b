package stats

import (
	"errors"
	"fmt"
	"math"
)

// Design is how a sequential test is run: where it looks and how sure it must be.
type Design struct {
	// FalsePass and FalseFail are the error rates that are kept to, Pass and Fail
	// the levels of p at each look that keep to them.
	FalsePass, FalseFail float64
	Pass, Fail           float64
	// Looks are launches an arm, ascending; the last is the end. A look at 1 only
	// screens.
	Looks []int
	// First is the fewest launches an arm at which a look decides by its p values.
	// Where it is more than the last look, nothing but a screen can decide.
	First int
}

// Last is the launches an arm at which the test ends; 0 without looks.
func (d Design) Last() int {
	if len(d.Looks) == 0 {
		return 0
	}
	return d.Looks[len(d.Looks)-1]
}

// Question is one comparison, turned so that more is what is wanted: the claim is
// that the mean of Candidate minus that of Base is at least Theta. All values
// stand on the scale of the test (logs, or as they are).
type Question struct {
	Candidate []float64
	// Base is nil for a test of one arm against a number.
	Base []float64
	// Single says that it is such a test.
	Single bool
	// Blocks is where each round stood, such as on which of several devices; nil where all
	// stood in one.
	Blocks []int
	Theta  float64
	// Pass and Fail are the levels at each look; where the error budget is shared
	// they are less than the design's.
	Pass, Fail float64
	// Floor bounds the standard deviation of an arm from below: the stored launch
	// noise, and the resolution of the measurement where values tie. 0 for none.
	Floor float64
	// FloorDF are the degrees of freedom of the stored launch noise in Floor; 0 without
	// such a record. Only a look at two launches counts with them.
	FloorDF float64
	// Screen is how far off one launch an arm has to be to fail at once, on the
	// scale of the test, below Theta: ln 0.75 for ratios (the sign is ignored). 0
	// for never. It is used at a look at 1 and nowhere else.
	Screen float64
}

// Look is one look at the data: see verdict.Look. Where nothing varies, at looks before
// the design's first, and at two launches that do not decide there are no p values: then SE, DF and T are
// 0 and both p are 1, which decides nothing. (Real ones sum to 1.)
type Look struct {
	N                                 int
	Estimate, SE, DF, T, PPass, PFail float64
	Chance                            float64
	// Low is the largest Theta that this look would pass, High the smallest that
	// it would fail; ±Inf where there is none.
	Low, High float64
}

// Outcome of a sequential test.
type Outcome string

// How a sequential test came out: see verdict.Stop.
const (
	Passed   Outcome = "passed"
	Failed   Outcome = "failed"
	Screened Outcome = "screened"
	Futile   Outcome = "futile"
	Ended    Outcome = "ended"
	Open     Outcome = "open"
)

// enough is the chance of a verdict below which more launches are not worth it.
const enough = 0.05

// Sequential decides a question from as many launches as there are: it looks at
// the first n launches of each arm at each of the design's looks, and the first
// look that decides latches, whatever came after it; so does one that finds more
// launches futile, without which the error rates would be higher. With fewer
// launches than the last look and no decision it is Open.
//
// It returns an error for an arm without launches, values that are not finite
// and levels or looks that make no sense, and never a decision beside it.
func Sequential(q Question, d Design) (Outcome, []Look, error) {
	if err := q.check(d); err != nil {
		return Open, nil, err
	}
	outcome, looks, err := q.run(d, nil)
	if err != nil {
		return Open, nil, err
	}
	for i := range looks {
		q.bound(&looks[i])
	}
	return outcome, looks, nil
}

// run appends the looks, without bounds, which cost more than all the rest.
func (q *Question) run(d Design, looks []Look) (Outcome, []Look, error) {
	have := len(q.Candidate)
	if !q.Single {
		have = min(have, len(q.Base))
	}
	for _, n := range d.Looks {
		if n > have {
			return Open, looks, nil
		}
		l, err := q.look(n, n >= max(d.First, Clear))
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

// decide is what follows from one look: Open where the next is to be made. The
// end is the caller's matter.
func (q *Question) decide(l *Look, n int, d Design) Outcome {
	switch {
	case l.DF > 0 && l.PPass <= q.Pass:
		return Passed
	case l.DF > 0 && l.PFail <= q.Fail:
		return Failed
	case n == 1 && q.screens(l.Estimate):
		return Screened
	case n >= LeastLaunches && l.DF > 0 && n < d.Last():
		pass, fail := q.project(*l, d.Last())
		if l.Chance = pass + fail; l.Chance < enough {
			return Futile
		}
	}
	return Open
}

// screens reports whether one launch an arm is so far off that more are not
// worth it. Where launch noise is recorded it must be off by four times that
// too, so that a noisy engine is not failed by one bad launch.
func (q *Question) screens(estimate float64) bool {
	arms := 2.0
	if q.Single {
		arms = 1
	}
	far := max(math.Abs(q.Screen), 4*q.Floor*math.Sqrt(arms))
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
	for _, x := range []float64{q.Theta, q.Floor, q.FloorDF, q.Screen} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("threshold, floor or screen: %w", ErrNotFinite)
		}
	}
	if q.Floor < 0 {
		return errors.New("the floor of a standard deviation is below zero")
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
