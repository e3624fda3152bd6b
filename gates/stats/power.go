package stats

import (
	"math"
	"sort"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// Resolvable is k in R(n) = k·σ: how many standard deviations of launches a true effect
// must lie beyond the threshold for n launches per arm to decide it, at this level of p,
// with this chance (the power). It assumes that arms vary alike and launches are normal.
// It is +Inf with fewer launches than a t-test needs, and if level or power are not
// between 0 and 1.
//
// It is that of one look at n, except where the reference has computed it with the looks
// before n: those need 1 to 4% less.
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
	{3, 0.002, 0.8, false}: 8.908, {3, 0.002, 0.9, false}: 11.013, {3, 0.015, 0.8, false}: 4.240,
	{3, 0.015, 0.9, false}: 5.007,
	{4, 0.002, 0.8, false}: 4.592, {4, 0.002, 0.9, false}: 5.286, {4, 0.015, 0.8, false}: 2.815,
	{4, 0.015, 0.9, false}: 3.262,
	{6, 0.002, 0.8, false}: 2.812, {6, 0.002, 0.9, false}: 3.166, {6, 0.015, 0.8, false}: 1.966,
	{6, 0.015, 0.9, false}: 2.269,
	{8, 0.002, 0.8, false}: 2.191, {8, 0.002, 0.9, false}: 2.468, {8, 0.015, 0.8, false}: 1.600,
	{8, 0.015, 0.9, false}: 1.851,
}

type resolvableKey struct {
	n            int
	level, power float64
	single       bool
}

// resolvable caches Resolvable: a plan asks for few values, repeatedly.
var resolvable sync.Map

// NoiseBound is the factor by which the true standard deviation may exceed a recorded one
// of df degrees of freedom: the 80% upper bound by the chi-square distribution, 1.3 at 8
// and 1.6 at 4. It is +Inf without degrees of freedom.
func NoiseBound(df float64) float64 {
	if !(df > 0) {
		return math.Inf(1)
	}
	return math.Sqrt(df / (2 * mathext.GammaIncRegInv(df/2, 0.2)))
}

// Likely is the chance of a verdict at which a number of launches is reported.
const Likely = 0.8

// Error is a way to be wrong: its rate over all looks, and the level of p at each.
type Error struct{ Rate, Level float64 }

// Margin is how far from the threshold an estimate must lie for n launches per arm to
// decide at this rate, if an arm's starts may have two speeds a gap apart.
//
// All of n launches miss a speed that a share s of the starts have with the chance
// (1 − s)ⁿ, and look quiet. So at the rate they may have missed a share of 1 − rate^(1/n),
// and the arm's mean is off by that share of the gap. Where it is less than a half, the
// launches show the more frequent speed, and nothing is added: what a rarer one would add
// is too little to wait for, and no number of launches that a plan makes shows it.
func (e Error) Margin(n int, gap float64) float64 {
	missed := 1 - math.Pow(e.Rate, 1/float64(n))
	if missed < 0.5 {
		return 0
	}
	return missed * gap
}

// Resolves is how far from the threshold a true effect must lie for the look at n launches
// per arm to decide it with this chance, if launches vary by sd and an arm's starts may
// have two speeds a gap apart.
func (e Error) Resolves(n int, gap, sd, power float64, single bool) float64 {
	arms := 2.0
	if single {
		arms = 1
	}
	beyond := math.Sqrt2 * math.Erfinv(2*power-1) * sd * math.Sqrt(arms/float64(n))
	return max(sd*Resolvable(n, e.Level, power, single), e.Margin(n, gap)+beyond)
}

// Settling is the smallest number of launches per arm beyond n that likely decide an
// effect so far from the threshold, if launches vary by sd and an arm's starts may have
// two speeds a gap apart; 0 if not even MostLaunches do.
func (e Error) Settling(n int, far, gap, sd float64, single bool) int {
	resolves := func(n int) bool { return far >= e.Resolves(n, gap, sd, Likely, single) }
	if n >= MostLaunches || !resolves(MostLaunches) {
		return 0
	}
	return n + 1 + sort.Search(MostLaunches-n-1, func(i int) bool { return resolves(n + 1 + i) })
}

// power is the chance of a decision at one look as a function of the effect.
type power struct {
	// unit is how much the noncentrality grows with an effect of one standard deviation.
	unit float64
	// critical are the t beyond which it decides, one for each of equally likely splits of
	// the pooled variance between the arms; spread is √(χ²/df) at the middles of equally
	// likely parts: a sample standard deviation in parts of the true one.
	critical, spread []float64
}

// How many equally likely parts the integrals are taken over: of the split of the
// variance between the arms, which is symmetric, and of the pooled variance.
const splits, spreads = 32, 256

// newPower prepares a look. Welch's degrees of freedom depend only on one arm's part u of
// the pooled variance, which is Beta distributed and independent of the pooled variance:
// given u, the statistic is a noncentral t.
func newPower(n int, level float64, single bool) power {
	free := float64(n - 1)
	p, df := power{unit: math.Sqrt(float64(n) / 2)}, 2*free
	for i := range splits {
		u := mathext.InvRegIncBeta(free/2, free/2, (float64(i)+0.5)/(2*splits))
		p.critical = append(p.critical, Quantile(level, free/(u*u+(1-u)*(1-u))))
	}
	if single {
		p.unit, p.critical, df = math.Sqrt(float64(n)), []float64{Quantile(level, free)}, free
	}
	for i := range spreads {
		p.spread = append(p.spread, math.Sqrt(2*mathext.GammaIncRegInv(df/2, (float64(i)+0.5)/spreads)/df))
	}
	return p
}

// at is the chance for an effect of k standard deviations.
func (p power) at(k float64) float64 {
	var sum float64
	for _, c := range p.critical {
		for _, s := range p.spread {
			sum += upper(c*s - k*p.unit)
		}
	}
	return sum / float64(len(p.critical)*len(p.spread))
}
