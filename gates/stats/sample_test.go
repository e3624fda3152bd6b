package stats

import (
	"errors"
	"math"
	"testing"
)

// Wanted numbers are from the definition: the geometric mean of 1, 10 and 100 is 10, the
// standard deviation of their logs is ln 10, and the 0.975 quantile of t with 2 degrees
// of freedom is 4.302653.
func TestSampleOf(t *testing.T) {
	half := math.Exp(4.302653 * math.Ln10 / math.Sqrt(3))
	for _, c := range []struct {
		name      string
		values    []float64
		mean, sd  float64
		low, high float64
		bounded   bool
	}{
		{"logs", []float64{1, 10, 100}, 10, 10 * math.Ln10, 10 / half, 10 * half, true},
		{"zero keeps it arithmetic", []float64{0, 1, 2}, 1, 1, 1 - 4.302653/math.Sqrt(3), 1 + 4.302653/math.Sqrt(3), true},
		{"one", []float64{7}, 7, 0, 0, 0, false},
		{"nothing varies", []float64{3, 3, 3}, 3, 0, 0, 0, false},
	} {
		got, err := SampleOf(c.values)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Max(1, math.Abs(b)) }
		if !near(got.Mean, c.mean) || !near(got.SD, c.sd) || (got.Low != nil) != c.bounded || c.bounded && (!near(*got.Low, c.low) || !near(*got.High, c.high)) {
			t.Errorf("%s: got %+v, want %v ± %v [%v, %v] %v", c.name, got, c.mean, c.sd, c.low, c.high, c.bounded)
		}
	}
	if _, err := SampleOf(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := SampleOf([]float64{1, math.NaN()}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("of NaN: %v", err)
	}
}
