package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

const (
	// neighboursLevel is the chance that neighbours pass as harmless which disturb by just
	// what is allowed: at either bound of a change, and at that of the spread.
	neighboursLevel = 0.05
	// MostSpread is how many times as much launches may vary beside neighbours. Twice
	// could not be shown by a dozen of them, and of what varies more than this no number
	// of launches that a plan would make shows anything.
	MostSpread = 3
)

// Neighbours are how launches that stood beside others differ from those that stood alone.
// What cannot be told is infinite, and so within no bound.
type Neighbours struct {
	// Change is the mean of beside/alone − 1 within rounds, and Low and High are its
	// two-sided 90% interval: a one-sided test at 5% on either side.
	Change, Low, High float64
	// Spread is how many times as much launches on one place vary beside neighbours, and
	// SpreadHigh its upper bound at 95%. Launches that vary by less than a tenth of the
	// share in question count as if they varied by that: three times nothing harms nobody.
	Spread, SpreadHigh float64
	share              float64
}

// Harmless reports whether it is shown that they change nothing by as much as the share.
func (n Neighbours) Harmless() bool {
	return n.Low > -n.share && n.High < n.share && n.SpreadHigh < MostSpread
}

// Harmful reports whether it is shown that they change something by more than the share.
func (n Neighbours) Harmful() bool { return n.Low > n.share || n.High < -n.share }

// AmongNeighbours holds launches against each other of which one in each round stood alone
// and one beside neighbours, both on the place of the round: what places differ by is in
// both and cancels. The question is whether they differ by a share.
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

// onPlaces is the variance of the values of rounds about the means of their places and a
// straight line over the rounds, with its degrees of freedom: a machine that gets slower all
// along would else hide by how much launches vary.
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

// centre takes the mean of each place from its values and returns how many places there are.
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

// knownF is the value below which F with df degrees of freedom above and below lies with
// the chance p.
func knownF(p, df float64) float64 {
	key := [3]float64{p, df, df}
	if f, ok := known.Load(key); ok {
		return f.(float64)
	}
	x := mathext.InvRegIncBeta(df/2, df/2, p)
	known.Store(key, x/(1-x))
	return x / (1 - x)
}

// NeighboursResolve is by how much launches may vary, as a standard deviation of logs, so
// that four in five of n rounds show of neighbours that change nothing that they change
// less than a share.
func NeighboursResolve(n int, share float64) float64 {
	df := float64(n - 1)
	return math.Log1p(share) * math.Sqrt(float64(n)/2) / (Quantile(neighboursLevel, df) + Quantile(0.1, df))
}
