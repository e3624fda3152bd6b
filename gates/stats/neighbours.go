package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

const (
	// neighboursLevel is the chance that neighbours pass as harmless although they
	// disturb by exactly the allowed amount: at either bound of a change, and at that of
	// the spread.
	neighboursLevel = 0.05
	// MostSpread is how many times as much launches may vary beside neighbours. A dozen
	// launches could not show a factor of two, and beyond three no number of launches
	// that a plan would make shows anything.
	MostSpread = 3
)

// Neighbours is how launches beside others differ from those alone. What cannot be
// determined is infinite, so within no bound.
type Neighbours struct {
	// Change is the mean of beside/alone − 1 within rounds, and Low and High are its
	// two-sided 90% interval: a one-sided test at 5% on either side.
	Change, Low, High float64
	// Spread is how many times as much launches on one place vary beside neighbours, and
	// SpreadHigh its upper bound at 95%. Launches that vary by less than a tenth of the
	// share in question count as if they varied by that: three times nothing is harmless.
	Spread, SpreadHigh float64
	share              float64
}

// Harmless reports whether neighbours are shown to change nothing by as much as the
// share.
func (n Neighbours) Harmless() bool {
	return n.Low > -n.share && n.High < n.share && n.SpreadHigh < MostSpread
}

// Harmful reports whether neighbours are shown to change something by more than the
// share.
func (n Neighbours) Harmful() bool { return n.Low > n.share || n.High < -n.share }

// AmongNeighbours compares launches of which, in each round, one ran alone and one beside
// neighbours, both on the round's place, so place differences cancel. The question is
// whether they differ by a share.
func AmongNeighbours(alone, beside []float64, places []int, share float64) (Neighbours, error) {
	if len(alone) != len(beside) || len(alone) != len(places) {
		return Neighbours{}, errors.New("launches alone, those beside neighbours and their places are not equally many")
	}
	a, err := logsOf(alone)
	if err != nil {
		return Neighbours{}, err
	}
	b, err := logsOf(beside)
	if err != nil {
		return Neighbours{}, err
	}
	d := make([]float64, len(a))
	for i := range d {
		d[i] = b[i] - a[i]
	}
	n, mean := float64(len(d)), stat.Mean(d, nil)
	out := Neighbours{Change: math.Expm1(mean), Low: math.Inf(-1), High: math.Inf(1), Spread: math.Inf(1), SpreadHigh: math.Inf(1), share: share}
	if n < 2 {
		return out, nil
	}
	if se := math.Sqrt(stat.Variance(d, nil) / n); se > 0 && !math.IsInf(se, 0) {
		by := knownQuantile(neighboursLevel, n-1) * se
		out.Low, out.High = math.Expm1(mean-by), math.Expm1(mean+by)
	}
	own, df := onPlaces(a, places)
	with, _ := onPlaces(b, places)
	if own = max(own, share*share/100); df > 0 && own > 0 && !math.IsInf(with, 0) {
		out.Spread = math.Sqrt(with / own)
		out.SpreadHigh = out.Spread * math.Sqrt(knownF(1-neighboursLevel, df))
	}
	return out, nil
}

// onPlaces is the variance of the rounds' values about their places' means and a straight
// line over the rounds, with its degrees of freedom: a machine that slows down throughout
// would otherwise hide how much launches vary.
func onPlaces(values []float64, places []int) (variance, df float64) {
	y, x := slices.Clone(values), make([]float64, len(values))
	for i := range x {
		x[i] = float64(i)
	}
	var xx, xy float64
	centre(y, places)
	df = float64(len(y) - centre(x, places))
	for i := range x {
		xx, xy = xx+x[i]*x[i], xy+x[i]*y[i]
	}
	if xx > 0 {
		df--
	} else {
		xx = 1
	}
	for i := range y {
		variance += math.Pow(y[i]-xy/xx*x[i], 2)
	}
	return variance / df, df
}

// centre subtracts each place's mean from its values and returns the number of places.
func centre(values []float64, places []int) int {
	sum, n := map[int]float64{}, map[int]float64{}
	for i, p := range places {
		sum[p], n[p] = sum[p]+values[i], n[p]+1
	}
	for i, p := range places {
		values[i] -= sum[p] / n[p]
	}
	return len(n)
}

// knownF is the p-quantile of F with df degrees of freedom above and below.
func knownF(p, df float64) float64 {
	key := [3]float64{p, df, df}
	if f, ok := known.Load(key); ok {
		return f.(float64)
	}
	x := mathext.InvRegIncBeta(df/2, df/2, p)
	known.Store(key, x/(1-x))
	return x / (1 - x)
}

// NeighboursResolve is the largest standard deviation (of logs) of launches at which,
// four times in five, n rounds show that harmless neighbours change less than a share.
func NeighboursResolve(n int, share float64) float64 {
	df := float64(n - 1)
	return math.Log1p(share) * math.Sqrt(float64(n)/2) / (Quantile(neighboursLevel, df) + Quantile(0.1, df))
}
