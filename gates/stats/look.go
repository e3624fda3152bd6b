package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
)

// LeastLaunches is the fewest launches an arm of which a t-test is made.
const LeastLaunches = 3

var errSpread = errors.New("the launches lie too far apart to compute their spread")

// look computes the statistic of the first n launches of each arm; with p values
// where tested is set and anything varies.
func (q *Question) look(n int, tested bool) (Look, error) {
	l := Look{N: n, PPass: 1, PFail: 1, Low: math.Inf(-1), High: math.Inf(1)}
	l.Estimate = stat.Mean(q.Candidate[:n], nil)
	if !q.Single {
		l.Estimate -= stat.Mean(q.Base[:n], nil)
	}
	if math.IsInf(l.Estimate, 0) || math.IsNaN(l.Estimate) {
		return l, errSpread
	}
	if !tested {
		return l, nil
	}
	if n < LeastLaunches {
		q.clear(&l)
		return l, nil
	}
	if q.blocked(n) {
		return l, q.lookInBlocks(&l, n)
	}
	raw := q.variances(n)
	se := math.Sqrt((max(raw[0], q.Floor*q.Floor) + max(raw[1], q.Floor*q.Floor)) / float64(n))
	if q.Single {
		se = max(math.Sqrt(raw[0]), q.Floor) / math.Sqrt(float64(n))
	}
	t := (l.Estimate - q.Theta) / se
	switch {
	case math.IsInf(se, 0) || math.IsNaN(se):
		return l, errSpread
	case !(se > 0) || math.IsInf(t, 0) || math.IsNaN(t):
		return l, nil
	}
	l.SE, l.T, l.DF = se, t, float64(n-1)
	// The degrees of freedom are those of the launches, not of the floor: equal
	// floors would raise them, and a floor may only widen. Arms that tie add none.
	if !q.Single && raw[0]+raw[1] > 0 {
		l.DF = satterthwaite(raw[:], []float64{l.DF, l.DF})
	}
	l.tails()
	return l, nil
}

// tails are the p values of T.
func (l *Look) tails() {
	// One tail is enough: the other is all the rest, and rounds to 1 at worst.
	l.PPass, l.PFail = Tail(math.Abs(l.T), l.DF), 1
	l.PFail -= l.PPass
	if l.T < 0 {
		l.PPass, l.PFail = l.PFail, l.PPass
	}
}

// variances of the first n launches of candidate and base; the second is 0 for a
// test of one arm.
func (q *Question) variances(n int) (v [2]float64) {
	v[0] = stat.Variance(q.Candidate[:n], nil)
	if !q.Single {
		v[1] = stat.Variance(q.Base[:n], nil)
	}
	return v
}

// bound adds what the look would pass and fail.
func (q *Question) bound(l *Look) {
	switch {
	case l.DF > 0 && q.Single && q.blocked(l.N):
		q.boundInBlocks(l)
	case l.DF > 0:
		l.Low = l.Estimate - Reach(l.N, q.Pass, l.SE, l.DF)
		l.High = l.Estimate + Reach(l.N, q.Fail, l.SE, l.DF)
	}
}

// Reach is how far from the threshold an estimate has to lie for a look at n launches an
// arm to decide at this level, with its standard error and degrees of freedom.
func Reach(n int, level, se, df float64) float64 {
	far := Quantile(level, df) * se
	if n < LeastLaunches {
		far = max(far, clearMargin)
	}
	return far
}
