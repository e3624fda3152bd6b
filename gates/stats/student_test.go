package stats

import (
	"math"
	"testing"
)

// A quantile has the tail that it was asked for.
func TestQuantile(t *testing.T) {
	for _, df := range []float64{1, 1.5, 2, 2.7, 4, 9.91, 14, 22, 100, 1e4} {
		for _, p := range []float64{1e-6, 7e-5, 0.002 / 40, 0.002, 0.015, 0.1, 0.4999, 0.5, 0.7, 0.999} {
			near(t, "tail of the quantile", Tail(Quantile(p, df), df), p, 1e-9*p)
		}
	}
}

func TestTailAtTheEnds(t *testing.T) {
	for _, c := range []struct{ t, df, want float64 }{
		{0, 3, 0.5},
		{math.Inf(1), 3, 0},
		{math.Inf(-1), 3, 1},
		{1, 1, 0.25}, // Cauchy
		{-1, 1, 0.75},
		{1e200, 2, 0},
	} {
		near(t, "tail", Tail(c.t, c.df), c.want, 1e-15)
	}
	for _, nan := range []float64{Tail(1, 0), Tail(1, math.NaN()), Tail(math.NaN(), 2), Quantile(0, 3), Quantile(1, 3), Quantile(0.1, 0), Quantile(math.NaN(), 3)} {
		if !math.IsNaN(nan) {
			t.Errorf("%v of what has none", nan)
		}
	}
}
