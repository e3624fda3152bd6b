package stats

import (
	"errors"
	"math"
	"slices"
)

// sameTo is how near a computed change must be to the limit, relative to what it was
// computed from, to count as the limit itself. Values and limits are decimals, and 1.1 −
// 1 exceeds 0.1 by floating-point rounding, which nobody means by "at most 0.1".
const sameTo = 1e-12

// RangeQuestion is a comparison of a value that a launch has once and that hardly varies,
// such as memory, for which a t-test is of no use: the whole range of the launches is
// held against the limit.
type RangeQuestion struct {
	Candidate []float64
	// Base is nil for a limit on one arm, which Single reports.
	Base   []float64
	Single bool
	// Relative takes the change in parts of the base (0.05 for 5% more), which
	// has to be above zero; the change is a difference otherwise.
	Relative bool
	Limit    float64
	// More is set if at least the limit is required, else at most; Strict if the limit
	// itself is not enough.
	More, Strict bool
}

// Range passes if the worst pair of launches keeps to the limit, fails if the best pair
// does not, and is Open in between. Low and high are the smallest and the largest change
// of any pair. Order and number of launches do not matter, so one launch per arm can
// decide.
func Range(q RangeQuestion) (outcome Outcome, low, high float64, err error) {
	if err := check(q.Candidate); err != nil {
		return Open, 0, 0, err
	}
	low, high = slices.Min(q.Candidate), slices.Max(q.Candidate)
	rounding := 0.0
	if !q.Single {
		if err := check(q.Base); err != nil {
			return Open, 0, 0, err
		}
		least, greatest := slices.Min(q.Base), slices.Max(q.Base)
		switch {
		case !q.Relative:
			rounding = sameTo * max(math.Abs(low), math.Abs(high), math.Abs(least), math.Abs(greatest))
			low, high = low-greatest, high-least
		case least <= 0:
			return Open, 0, 0, errors.New("a change in parts of the base needs a base above zero")
		case low < 0:
			return Open, 0, 0, errors.New("a change in parts of the base needs values that are not below zero")
		default:
			low, high = low/greatest, high/least
			rounding = sameTo * high
			low, high = low-1, high-1
		}
	}
	if err := check([]float64{q.Limit, low, high}); err != nil {
		return Open, 0, 0, err
	}
	at := func(change float64) float64 {
		if math.Abs(change-q.Limit) <= rounding {
			return q.Limit
		}
		return change
	}
	worst, best, limit := at(high), at(low), q.Limit
	if q.More {
		worst, best, limit = -best, -worst, -limit
	}
	switch {
	case worst < limit || worst == limit && !q.Strict:
		return Passed, low, high, nil
	case best > limit || best == limit && q.Strict:
		return Failed, low, high, nil
	}
	return Open, low, high, nil
}
