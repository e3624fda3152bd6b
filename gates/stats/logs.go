package stats

import (
	"fmt"
	"math"
)

// logsOf returns the natural logs of launches. It returns ErrEmpty, ErrNotFinite, or an
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
