// Package stats is how launches decide: the sequential test (Sequential, by a Design that
// Offer has levels for), the comparison of whole ranges (Range), what launches can
// resolve (Resolvable), how far they drift (Drift) and how much they are known to differ
// (Pool); and the means and intervals shown with a decision. All are pure functions on
// the values of launches, which are the replicates, never requests (see
// docs/statistics.md). Values of one call are in one unit, or all in logs, as the caller
// has them. It knows no metric, rule or engine.
package stats

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat"
)

// ErrEmpty is returned for no values at all: the mean of nothing is not zero.
var ErrEmpty = errors.New("no values")

// ErrNotFinite is returned for NaN or infinite values.
var ErrNotFinite = errors.New("a value is not a finite number")

// Mean averages launches: in logs if every value is positive (the geometric mean, so a
// ratio of means is a mean of ratios), arithmetically otherwise.
func Mean(values []float64) (float64, error) {
	if err := check(values); err != nil {
		return 0, err
	}
	if positive(values) {
		return math.Exp(stat.Mean(logs(values), nil)), nil
	}
	return stat.Mean(values, nil), nil
}

// ArithmeticMean averages launches in their own unit, as absolute differences need.
func ArithmeticMean(values []float64) (float64, error) {
	if err := check(values); err != nil {
		return 0, err
	}
	return stat.Mean(values, nil), nil
}

// positive reports whether every value is above zero.
func positive(values []float64) bool {
	for _, v := range values {
		if !(v > 0) {
			return false
		}
	}
	return len(values) > 0
}

func check(values []float64) error {
	if len(values) == 0 {
		return ErrEmpty
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ErrNotFinite
		}
	}
	return nil
}

// Difference is mean(a) − mean(b) with a two-sided 95% interval by Welch's
// t-test with the degrees of freedom of Welch–Satterthwaite.
type Difference struct {
	Estimate float64
	// SE is the standard error and DF the degrees of freedom.
	SE, DF    float64
	Low, High float64
	// Bounded is false if an arm has fewer than two launches or nothing varies: then only
	// Estimate is meaningful.
	Bounded bool
}

// P is the two-sided chance of a difference as large as this if there is none; meaningful
// only if the difference is Bounded.
func (d Difference) P() float64 { return min(1, 2*Tail(math.Abs(d.Estimate)/d.SE, d.DF)) }

// LogDifference is the difference of the mean logs of a and b, whose exponential is the
// ratio of their geometric means; within rounds, values of one index ran side by side.
func LogDifference(a, b []float64, rounds bool) (Difference, error) {
	logsA, err := logsOf(a)
	if err != nil {
		return Difference{}, err
	}
	logsB, err := logsOf(b)
	if err != nil {
		return Difference{}, err
	}
	return differ(logsA, logsB, rounds), nil
}

// RawDifference is the difference of the arithmetic means of a and b.
func RawDifference(a, b []float64, rounds bool) (Difference, error) {
	for _, arm := range [][]float64{a, b} {
		if err := check(arm); err != nil {
			return Difference{}, err
		}
	}
	return differ(a, b, rounds), nil
}

// differ is Welch's interval, or within rounds that of the mean of their differences.
func differ(a, b []float64, rounds bool) Difference {
	d := Difference{Estimate: stat.Mean(a, nil) - stat.Mean(b, nil)}
	if len(a) < 2 || len(b) < 2 {
		return d
	}
	va := stat.Variance(a, nil) / float64(len(a))
	vb := stat.Variance(b, nil) / float64(len(b))
	df := satterthwaite([]float64{va, vb}, []float64{float64(len(a) - 1), float64(len(b) - 1)})
	if rounds {
		va, vb, df = stat.Variance(differences(a, b), nil)/float64(len(a)), 0, float64(len(a)-1)
	}
	se := math.Sqrt(va + vb)
	if !(se > 0) || math.IsInf(se, 0) {
		return d
	}
	t := Quantile(0.025, df)
	d.SE, d.DF = se, df
	d.Low, d.High, d.Bounded = d.Estimate-t*se, d.Estimate+t*se, true
	return d
}

// differences are those of a and b, element by element.
func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}
