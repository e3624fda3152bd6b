package stats

import "math"

// project is the chance of a pass and of a fail by one look at n launches an arm,
// judged from the look l. It takes the standard deviation to be the true one, and
// the true effect to lie around the estimate as far as the standard error says:
// the estimate at n is then normal around that of now, and differs from it by
// what the launches to come can move it. Both are 0 where l has no p values and
// where n is not beyond it.
//
// With s the arms' standard deviation, se is s√(2/n), or s√(1/n) of one arm, and
// both forms come to the same.
func (q *Question) project(l Look, n int) (pass, fail float64) {
	if !(l.DF > 0 && l.SE > 0) || n <= l.N {
		return 0, 0
	}
	df := float64(2*n - 2)
	if q.Single || q.Blocks != nil {
		df = float64(n - 1)
	}
	part := float64(l.N) / float64(n)
	final, move := l.SE*math.Sqrt(part), l.SE*math.Sqrt(1-part)
	gap := l.Estimate - q.Theta
	pass = upper((knownQuantile(q.Pass, df)*final - gap) / move)
	fail = upper((knownQuantile(q.Fail, df)*final + gap) / move)
	return pass, fail
}

// upper is the upper tail of the normal distribution.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
