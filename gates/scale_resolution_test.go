package gates

import "testing"

// What is counted is known to one; an average of counts, such as tokens a step, is
// known better than that.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		unit   string
		values []float64
		want   float64
	}{
		{"tokens", []float64{24, 24, 23}, 1},
		{"tokens", []float64{2.2, 2, 2}, 1e-3},
		{"count", []float64{0, 0}, 1},
		{"GB", []float64{60}, 0.01},
		{"share", []float64{1, 1}, 1e-3},
		{"ms", []float64{12}, 1e-6},
		{"tok/s", []float64{1}, 1e-9},
		{"tok/s", []float64{0.1}, 1e-9},
	} {
		if got := resolution(c.unit, c.values); got != c.want {
			t.Errorf("%v %s: %v, want %v", c.values, c.unit, got, c.want)
		}
	}
}
