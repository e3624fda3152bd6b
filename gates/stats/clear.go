package stats

import "math"

// What two launches an arm take to decide. Their own spread has one degree of freedom
// each, so that a t-test has no power, and the recorded noise alone would let a candidate
// decide that varies more than the record. TestRatesOfTwoLaunches shows what these three
// together keep to.
const (
	// clearRatio is how many times as much as the record one arm is taken to vary: the
	// widest ratio that the levels are calibrated for.
	clearRatio = 20
	// clearSpread is how many recorded standard deviations that of an arm's two launches
	// may be: a candidate that varies 20 times as much shows it nine times in ten, and one
	// that varies as the record does is held up once in a hundred.
	clearSpread = 2.5
)

// clearMargin is how far beyond the threshold an effect has to lie whatever the record:
// engines were seen with two speeds 8% apart, and two launches are both fast ones one time
// in four.
var clearMargin = math.Log(1.1)

// clear is a look at two launches an arm. It has p values only where it decides: by
// Student's t with the degrees of freedom of the record, as if one arm varied clearRatio
// times as much, beyond clearMargin, and where the launches of either arm agree. Mean and
// difference of two normal launches are independent, so that what agrees by chance is no
// likelier to be far off. Launches on different devices say nothing of that.
func (q *Question) clear(l *Look) {
	if q.Single || q.blocked(l.N) || !(q.FloorDF > 0) || !(q.Floor > 0) {
		return
	}
	gap, level := l.Estimate-q.Theta, q.Pass
	if gap < 0 {
		level = q.Fail
	}
	v := q.variances(l.N)
	se := clearError(q.Floor)
	if math.Sqrt(max(v[0], v[1])) > clearSpread*q.Floor || math.Abs(gap) < Reach(l.N, level, se, q.FloorDF) {
		return
	}
	l.SE, l.T, l.DF = se, gap/se, q.FloorDF
	l.PPass, l.PFail = Tail(math.Abs(l.T), l.DF), 1
	l.PFail -= l.PPass
	if gap < 0 {
		l.PPass, l.PFail = l.PFail, l.PPass
	}
}

// clearError is the standard error of a difference of means of two launches, by the
// recorded standard deviation.
func clearError(sd float64) float64 { return sd * math.Sqrt((1+clearRatio*clearRatio)/2.0) }

// ClearGap is how far beyond the threshold an effect has to lie for two launches an arm to
// decide it at this level, where the record has this standard deviation and degrees of
// freedom, on the scale of the test.
func ClearGap(sd, df, level float64) float64 { return Reach(Clear, level, clearError(sd), df) }
