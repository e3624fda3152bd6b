package stats

import (
	"errors"
	"math"
	"testing"
)

func TestSigns(t *testing.T) {
	for name, test := range map[string]struct {
		differences []float64
		p           float64
		of          int
	}{
		"all above":          {[]float64{1, 2, 3, 4, 5}, 1. / 32, 5},
		"all but one above":  {[]float64{1, 2, 3, 4, -5}, 6. / 32, 5},
		"none above":         {[]float64{-1, -2}, 1, 2},
		"zeros say nothing":  {[]float64{0, 0, 0, 1}, 0.5, 1},
		"zeros alone":        {[]float64{0, 0}, 1, 0},
		"half above":         {[]float64{1, -1}, 0.75, 2},
		"infinitely far off": {[]float64{math.Inf(1), 1, 1}, 1. / 8, 3},
	} {
		if p, of, err := Signs(test.differences); err != nil || math.Abs(p-test.p) > 1e-12 || of != test.of {
			t.Errorf("%s: %v of %d (%v), want %v of %d", name, p, of, err, test.p, test.of)
		}
	}
	if p, _, err := Signs(nil); !errors.Is(err, ErrEmpty) || p != 1 {
		t.Errorf("nothing: %v, %v", p, err)
	}
	if p, _, err := Signs([]float64{1, math.NaN()}); !errors.Is(err, ErrNotFinite) || p != 1 {
		t.Errorf("NaN: %v, %v", p, err)
	}
}
