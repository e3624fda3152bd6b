package verdict

import (
	"math"
	"testing"
)

func TestP(t *testing.T) {
	for _, c := range []struct {
		p        float64
		want, is string
	}{
		{0, "< 0.000001", "p < 0.000001"},
		{5.4e-25, "< 0.000001", "p < 0.000001"},
		{0.00000189, "0.000002", "p = 0.000002"},
		{0.000066, "0.000066", "p = 0.000066"},
		{0.000577, "0.000577", "p = 0.000577"},
		{0.0001, "0.0001", "p = 0.0001"},
		{0.002041, "0.00204", "p = 0.00204"},
		{0.04834, "0.0483", "p = 0.0483"},
		{0.1, "0.1", "p = 0.1"},
		{0.8972, "0.897", "p = 0.897"},
		{0.999, "0.999", "p = 0.999"},
		{0.9995, "> 0.999", "p > 0.999"},
		{1, "> 0.999", "p > 0.999"},
		{math.NaN(), "NaN", "p = NaN"},
	} {
		if got := P(c.p); got != c.want {
			t.Errorf("%v: %q, want %q", c.p, got, c.want)
		}
		if got := PIs(c.p); got != c.is {
			t.Errorf("%v: %q, want %q", c.p, got, c.is)
		}
	}
}

func TestPLevel(t *testing.T) {
	for level, want := range map[float64]string{
		0.002: "0.002", 0.015: "0.015", 0.005: "0.005", 0.015 / 4: "0.00375", 0.015 / 8: "0.001875", 0.002 / 3: "0.0006667", 0.0395: "0.0395", 0.002 / 160: "0.0000125", 0: "0",
	} {
		if got := PLevel(level); got != want {
			t.Errorf("%v: %q, want %q", level, got, want)
		}
	}
}
