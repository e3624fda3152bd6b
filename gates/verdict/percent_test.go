package verdict

import "testing"

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     string
	}{
		{0.382, 1, "+38.2 %"},
		{-0.03, 1, "-3.0 %"},
		{-0.0004, 1, "+0.0 %"},
		{-0.0004, 2, "-0.04 %"},
		{0.6, 0, "+60 %"},
		{1e6, 1, "+1.0e+08 %"},
	} {
		if got := Percent(c.x, c.decimals); got != c.want {
			t.Errorf("%v with %d decimals: %q, want %q", c.x, c.decimals, got, c.want)
		}
	}
}
