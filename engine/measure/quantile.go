package measure

import "math"

// Quantile is the p-quantile of values in ascending order by the estimator
// that Hyndman and Fan (The American Statistician 50, 1996) number 8 and
// recommend: approximately median-unbiased whatever the distribution. With
// h = (n + 1/3)p + 1/3 it lies the fraction h − ⌊h⌋ of the way from the ⌊h⌋-th
// value to the next. At p = 0.5 it is the usual median.
//
// It is NaN for no values and for p outside [0, 1], and never leaves the range
// of the values.
func Quantile(ascending []float64, p float64) float64 {
	n := len(ascending)
	if n == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	// Rounding products keeps them from being fused with sums, so that all
	// architectures agree.
	h := float64((float64(n)+1.0/3)*p) + 1.0/3
	below := math.Floor(h)
	switch {
	case below < 1:
		return ascending[0]
	case below >= float64(n):
		return ascending[n-1]
	}
	k := int(below)
	lo, hi := ascending[k-1], ascending[k]
	// Rounding may carry the interpolation a last bit past its neighbours.
	return min(max(lo+float64((h-below)*(hi-lo)), lo), hi)
}
