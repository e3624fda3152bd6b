package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileRanks returns the ranks, counted from 1, of the ordered values that bound the
// p-quantile at this confidence (0.95) whatever the distribution: the shortest ends of
// Hahn and Meeker (Statistical Intervals, 1991, section 5.2). It is false if an end would
// lie outside the values: then there are too few, see LeastForRanks.
//
// The interval is "within these launches": requests of one launch are alike, so it does
// not say what another launch would give.
func QuantileRanks(n int, p, confidence float64) (low, high int, ok bool) {
	if n < 1 || !(p > 0 && p < 1) || !(confidence > 0 && confidence < 1) {
		return 0, 0, false
	}
	tail := (1 - confidence) / 2
	count := distuv.Binomial{N: float64(n), P: p}
	for low < n && count.CDF(float64(low)) <= tail {
		low++
	}
	for high = n + 1; high > 1 && 1-count.CDF(float64(high-2)) <= tail; {
		high--
	}
	return low, high, low >= 1 && high <= n
}

// LeastForRanks is the fewest values for which QuantileRanks has both ends: the
// chance that all lie on one side of the quantile is then small enough. The one-
// sided number of confidence c is that of 2c − 1. It is 0 for a p or confidence
// that is not between 0 and 1.
func LeastForRanks(p, confidence float64) int {
	if !(p > 0 && p < 1) || !(confidence > 0 && confidence < 1) {
		return 0
	}
	return int(math.Ceil(math.Log((1-confidence)/2) / math.Log(max(p, 1-p))))
}
