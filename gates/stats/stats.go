// Package stats has the statistics of decisions: the sequential test (Sequential, with a
// Design from DesignFor), the comparison of whole ranges (Range), the power of launches
// (Resolvable), their drift (Drift) and their recorded noise (Pool), and the means and
// intervals shown with a decision. All are pure functions on the values of launches,
// which are the replicates, never requests (see docs/statistics.md). Values of one call
// are in one unit, or all in logs. It knows no metric, rule or engine.
package stats

import (
	"errors"
	"fmt"
	"math"
)

// errEmpty is returned for no values at all: the mean of nothing is not zero.
var errEmpty = errors.New("no values")

// errNotFinite is returned for NaN or infinite values.
var errNotFinite = errors.New("a value is not a finite number")

// Mean averages launches: in logs if every value is positive (the geometric mean, so a
// ratio of means is a mean of ratios), arithmetically otherwise.
func Mean(values []float64) (float64, error) {
	if err := check(values); err != nil {
		return 0, err
	}
	if positive(values) {
		return math.Exp(mean(logs(values))), nil
	}
	return mean(values), nil
}

// ArithmeticMean averages launches in their own unit, as absolute differences need.
func ArithmeticMean(values []float64) (float64, error) {
	if err := check(values); err != nil {
		return 0, err
	}
	return mean(values), nil
}

// mean is the arithmetic mean of values that were checked.
func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Variance is the sample variance, with the divisor n − 1: NaN of fewer than two values.
func Variance(values []float64) float64 { return squares(values) / float64(len(values)-1) }

// squares is the sum of the squares of values about their mean, corrected for the mean's
// rounding (Chan, Golub and LeVeque, The American Statistician 37, 1983).
func squares(values []float64) (sum float64) {
	center, off := mean(values), 0.0
	for _, v := range values {
		sum += (v - center) * (v - center)
		off += v - center
	}
	return sum - off*off/float64(len(values))
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
		return errEmpty
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errNotFinite
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
func (d Difference) P() float64 { return min(1, 2*tail(math.Abs(d.Estimate)/d.SE, d.DF)) }

// Differ is the difference of the means of a and b, within rounds that of the values of one
// index, which ran side by side; in logs that of the means of their logs, whose exponential
// is the ratio of their geometric means.
func Differ(a, b []float64, inLogs, rounds bool) (d Difference, err error) {
	read := func(values []float64) ([]float64, error) { return values, check(values) }
	if inLogs {
		read = logsOf
	}
	if a, err = read(a); err != nil {
		return d, err
	}
	if b, err = read(b); err != nil {
		return d, err
	}
	d.Estimate = mean(a) - mean(b)
	if len(a) < 2 || len(b) < 2 {
		return d, nil
	}
	va := Variance(a) / float64(len(a))
	vb := Variance(b) / float64(len(b))
	df := satterthwaite([]float64{va, vb}, []float64{float64(len(a) - 1), float64(len(b) - 1)})
	if rounds {
		va, vb, df = Variance(differences(a, b))/float64(len(a)), 0, float64(len(a)-1)
	}
	se := math.Sqrt(va + vb)
	if !(se > 0) || math.IsInf(se, 0) {
		return d, nil
	}
	t := Quantile(0.025, df)
	d.SE, d.DF = se, df
	d.Low, d.High, d.Bounded = d.Estimate-t*se, d.Estimate+t*se, true
	return d, nil
}

// differences subtracts b from a, element by element.
func differences(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

// logsOf returns the natural logs of launches. It returns errEmpty, errNotFinite, or an
// error that names the first value without a log.
func logsOf(values []float64) ([]float64, error) {
	if err := check(values); err != nil {
		return nil, err
	}
	for i, v := range values {
		if !(v > 0) {
			return nil, fmt.Errorf("a ratio needs values above zero, and number %d of %d is %v", i+1, len(values), v)
		}
	}
	return logs(values), nil
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// satterthwaite is the degrees of freedom of a sum of variances (of means, or of arms
// with as many launches each), given those of each. The usual formula divides sums of
// squares; shares of the sum neither overflow nor vanish. It is NaN if nothing varies.
func satterthwaite(variances, df []float64) float64 {
	var sum, inverse float64
	for _, v := range variances {
		sum += v
	}
	for i, v := range variances {
		if v > 0 {
			inverse += (v / sum) * (v / sum) / df[i]
		}
	}
	if !(sum > 0) {
		return math.NaN()
	}
	return 1 / inverse
}

// Pool is the standard deviation of the logs of launches within groups, and its degrees
// of freedom: one less than the launches of each group. A group is the launches of one
// variant in one session, so differences between variants and sessions do not count as
// noise. Groups of one launch, or with values that have no log, add nothing; without any
// other the degrees of freedom are 0.
func Pool(groups [][]float64) (sd, df float64) {
	var squares float64
	for _, g := range groups {
		xs, err := logsOf(g)
		if err != nil || len(xs) < 2 {
			continue
		}
		free := float64(len(xs) - 1)
		squares += free * Variance(xs)
		df += free
	}
	if df == 0 {
		return 0, 0
	}
	return math.Sqrt(squares / df), df
}

// Nested are the variance components of values in groups, such as launches by arm, as
// standard deviations of their logs: that of Pool within groups, and between k groups of n of
// N values beyond it. With MSB the mean square between them it is
//
//	between² = (MSB − within²) / n₀,  n₀ = (N − Σn²/N) / (k − 1)
//
// (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6), or 0 if that is
// negative. What is unknown, as between of one group, is NaN.
func Nested(groups [][]float64) (within, between, df float64) {
	var all []float64
	var counts, k float64
	for _, g := range groups {
		if xs, err := logsOf(g); err == nil && len(xs) > 0 {
			all, counts, k = append(all, xs...), counts+float64(len(xs)*len(xs)), k+1
		}
	}
	if within, df = Pool(groups); df == 0 {
		return math.NaN(), math.NaN(), 0
	} else if k < 2 {
		return within, math.NaN(), df
	}
	n, variance := float64(len(all)), within*within
	msb := (squares(all) - variance*df) / (k - 1) // what is not within the groups is between them
	return within, math.Sqrt(max(0, (msb-variance)*(k-1)/(n-counts/n))), df
}
