package stats

import (
	"math"
	"sort"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// Resolvable is k of R(n) = k·σ: how many standard deviations of launches a true
// effect has to lie beyond the threshold for n launches an arm, at this level of
// p, to decide it with this chance (the power). Arms are taken to vary alike, and
// launches to be normal. It is +Inf with fewer launches than a t-test needs, and
// where level or power are not between 0 and 1.
//
// It is that of one look at n, but where the reference has worked it out with the
// looks before n: those need 1 to 4% less.
func Resolvable(n int, level, power float64, single bool) float64 {
	if n < LeastLaunches || !(level > 0 && level < 1) || !(power > 0 && power < 1) {
		return math.Inf(1)
	}
	key := resolvableKey{n, level, power, single}
	if k, ok := referenceK[key]; ok {
		return k
	}
	if k, ok := resolvable.Load(key); ok {
		return k.(float64)
	}
	chance := newPower(n, level, single)
	low, high := 0.0, 1.0
	for chance.at(high) < power && high < 1e6 {
		low, high = high, 2*high
	}
	for range 30 {
		if mid := (low + high) / 2; chance.at(mid) < power {
			low = mid
		} else {
			high = mid
		}
	}
	resolvable.Store(key, high)
	return high
}

// referenceK is what the reference implementation simulated for the default
// levels with looks at 3, 4, 6 and 8 up to n, and no futility.
var referenceK = map[resolvableKey]float64{
	{3, 0.002, 0.8, false}: 8.908, {3, 0.002, 0.9, false}: 11.013, {3, 0.015, 0.8, false}: 4.240, {3, 0.015, 0.9, false}: 5.007,
	{4, 0.002, 0.8, false}: 4.592, {4, 0.002, 0.9, false}: 5.286, {4, 0.015, 0.8, false}: 2.815, {4, 0.015, 0.9, false}: 3.262,
	{6, 0.002, 0.8, false}: 2.812, {6, 0.002, 0.9, false}: 3.166, {6, 0.015, 0.8, false}: 1.966, {6, 0.015, 0.9, false}: 2.269,
	{8, 0.002, 0.8, false}: 2.191, {8, 0.002, 0.9, false}: 2.468, {8, 0.015, 0.8, false}: 1.600, {8, 0.015, 0.9, false}: 1.851,
}

type resolvableKey struct {
	n            int
	level, power float64
	single       bool
}

// resolvable keeps what Resolvable found: a plan asks for few, again and again.
var resolvable sync.Map

// NoiseBound is by how much more than a recorded standard deviation of df degrees
// of freedom the true one may be: the 80% upper bound by the chi-square
// distribution, 1.3 at 8 and 1.6 at 4. It is +Inf without degrees of freedom.
func NoiseBound(df float64) float64 {
	if !(df > 0) {
		return math.Inf(1)
	}
	return math.Sqrt(df / distuv.ChiSquared{K: df}.Quantile(0.2))
}

// Likely is the chance of a verdict that a number of launches is named for.
const Likely = 0.8

// Settling is the least number of launches an arm beyond n that likely decide, at this
// level of p, an effect that lies gap from the threshold where launches vary by sd; 0
// where not even MostLaunches do.
func Settling(n int, gap, sd, level float64, single bool) int {
	resolves := func(n int) bool { return gap >= sd*Resolvable(n, level, Likely, single) }
	if n >= MostLaunches || !resolves(MostLaunches) {
		return 0
	}
	return n + 1 + sort.Search(MostLaunches-n-1, func(i int) bool { return resolves(n + 1 + i) })
}

// Resolves is how many standard deviations of launches an effect has to lie beyond the
// threshold for the look at n launches an arm to likely let it pass.
func (d Design) Resolves(n int) float64 { return Resolvable(n, d.Pass, Likely, false) }

// Settling is the first look after n launches an arm that likely lets an effect pass
// which lies gap beyond the threshold where launches vary by sd; 0 where none does.
func (d Design) Settling(n int, gap, sd float64) int {
	for _, at := range d.Looks {
		if at > n && d.Resolves(at)*sd <= gap {
			return at
		}
	}
	return 0
}
