package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Interval is a mean over launches with its two-sided 95% interval by Student's
// t.
type Interval struct {
	Mean, Low, High float64
	// SD is the standard deviation of the values, 0 of one; with a mean of logs, that of
	// the logs times Mean: to first order, how far values are from it.
	SD float64
	// Bounded is false with fewer than two values or if nothing varies.
	Bounded bool
}

// MeanInterval is the interval of Mean: in logs, so not symmetric, if every value is
// positive.
func MeanInterval(values []float64) (Interval, error) {
	if err := check(values); err != nil {
		return Interval{}, err
	}
	xs, back := values, func(x float64) float64 { return x }
	if positive(values) {
		xs, back = logs(values), math.Exp
	}
	mean := stat.Mean(xs, nil)
	in := Interval{Mean: back(mean)}
	if len(xs) < 2 {
		return in, nil
	}
	variance := stat.Variance(xs, nil)
	if in.SD = math.Sqrt(variance); positive(values) {
		in.SD *= in.Mean
	}
	se := math.Sqrt(variance / float64(len(xs)))
	if !(se > 0) || math.IsInf(se, 0) {
		return in, nil
	}
	t := Quantile(0.025, float64(len(xs)-1))
	in.Low, in.High = back(mean-t*se), back(mean+t*se)
	in.Bounded = !math.IsInf(in.High, 0)
	return in, nil
}
