package stats

import (
	"fmt"
	"math"
)

// A drift is flagged beyond steadyMean (0.5%) at p < steadyLevel.
const (
	steadyMean  = 0.005
	steadyLevel = 0.01
)

// Drift tests whether launches become faster or slower while they are measured. Each
// contributes one number: the log of the median of the first half of its requests minus
// that of the second. It returns their mean, the p of a two-sided t-test that there is no
// drift, and whether it is both certain and large enough to matter.
//
// Fewer than two launches are never flagged, as nothing tells their drift from noise: p
// is 1. Launches that all drift alike have p 0; values that are not finite are flagged,
// as nothing shows that they are steady.
func Drift(launches []float64) (drift, p float64, flagged bool) {
	if len(launches) < 2 {
		return 0, 1, false
	}
	if check(launches) != nil {
		return math.NaN(), 0, true
	}
	drift, p = mean(launches), 1
	se := math.Sqrt(Variance(launches) / float64(len(launches)))
	switch {
	case se > 0:
		p = 2 * tail(math.Abs(drift)/se, float64(len(launches)-1))
	case drift != 0:
		p = 0
	}
	return drift, p, p < steadyLevel && math.Abs(drift) > steadyMean
}

// trendParts is the number of parts of a trend: nine steps between ten means.
const trendParts = 10

// walk is how much more the mean of steps correlated by a quarter varies.
const walk = 1 + 2*0.25

// Interval is a number with its two-sided 95% interval, if it is Bounded.
type Interval struct {
	Mean, Low, High float64
	Bounded         bool
}

// Trend is how much y grows per unit of x, with its 95% interval. x must not fall.
//
// The readings are cut into ten parts of equal length in x, and the interval is Student's
// for the steps from one part's mean to the next's. Memory is not a trend with
// independent errors, as a regression assumes: it stays where the last allocation left
// it. The means of a walk's parts have steps correlated by a quarter (Working,
// Econometrica 28, 1960), for which the interval is widened; for errors about a line it
// is wider than necessary. A single jump is one step of nine, not a trend.
//
// It fails if a part has no reading: that is too little to tell.
func Trend(x, y []float64) (Interval, error) {
	if len(x) != len(y) {
		return Interval{}, fmt.Errorf("%d places for %d values", len(x), len(y))
	}
	if len(x) < trendParts {
		return Interval{}, fmt.Errorf("%d readings: a trend needs at least %d", len(x), trendParts)
	}
	if err := check(x); err != nil {
		return Interval{}, err
	}
	if err := check(y); err != nil {
		return Interval{}, err
	}
	first, last := x[0], x[len(x)-1]
	var xs, ys [trendParts]float64
	var n [trendParts]float64
	for i, at := range x {
		if i > 0 && at < x[i-1] {
			return Interval{}, fmt.Errorf("place %d is before the one ahead of it", i)
		}
		part := min(int(trendParts*(at-first)/(last-first)), trendParts-1)
		if part < 0 { // NaN: all readings have the same x
			return Interval{}, fmt.Errorf("all %d readings are at one place", len(x))
		}
		xs[part], ys[part], n[part] = xs[part]+at, ys[part]+y[i], n[part]+1
	}
	var steps []float64
	for i := range trendParts {
		if n[i] == 0 {
			return Interval{}, fmt.Errorf("no reading in part %d of %d", i+1, trendParts)
		}
		if i > 0 {
			steps = append(steps, (ys[i]/n[i]-ys[i-1]/n[i-1])/(xs[i]/n[i]-xs[i-1]/n[i-1]))
		}
	}
	step := mean(steps)
	half := Quantile(0.025, float64(len(steps)-1)) * math.Sqrt(walk*Variance(steps)/float64(len(steps)))
	return Interval{Mean: step, Low: step - half, High: step + half, Bounded: !math.IsInf(half, 0) &&
		!math.IsNaN(half)}, nil
}
