package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
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
func Drift(launches []float64) (mean, p float64, flagged bool) {
	if len(launches) < 2 {
		return 0, 1, false
	}
	if check(launches) != nil {
		return math.NaN(), 0, true
	}
	mean, p = stat.Mean(launches, nil), 1
	se := math.Sqrt(stat.Variance(launches, nil) / float64(len(launches)))
	switch {
	case se > 0:
		p = 2 * Tail(math.Abs(mean)/se, float64(len(launches)-1))
	case mean != 0:
		p = 0
	}
	return mean, p, p < steadyLevel && math.Abs(mean) > steadyMean
}
