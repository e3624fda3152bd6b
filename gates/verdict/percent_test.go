package verdict

import (
	"math"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     string
	}{
		{0.382, 1, "+38.2 %"},
		{-0.03, 1, "-3.0 %"},
		{-0.0004, 1, "-0.04 %"},
		{-0.000325774, 1, "-0.03 %"},
		{0.00049, 1, "+0.05 %"},
		{0.0005, 1, "+0.05 %"},
		{0.005, 0, "+0.5 %"},
		{-0.000004, 1, "-0.0004 %"},
		{-0.0000004, 1, "+0.0 %"},
		{-0.0000004, 5, "-0.00004 %"},
		{-1e-17, 1, "+0.0 %"},
		{math.Copysign(0, -1), 1, "+0.0 %"},
		{-0.0004, 2, "-0.04 %"},
		{0.6, 0, "+60 %"},
		{1e6, 1, "+1.0e+08 %"},
		{-1, 1, "-100.0 %"},
		{-1.2, 1, "-120.0 % (2.2 times as much)"},
		{-53.739, 1, "-5373.9 % (54.7 times as much)"},
	} {
		if got := Percent(c.x, c.decimals); got != c.want {
			t.Errorf("%v with %d decimals: %q, want %q", c.x, c.decimals, got, c.want)
		}
	}
}
