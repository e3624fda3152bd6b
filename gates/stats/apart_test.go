package stats

import (
	"math"
	"testing"
)

// By hand: arms of two launches at exp(m ± s) have a variance of their mean of s², and with equal s four of
// them 4 degrees of freedom, two 2.
func TestApart(t *testing.T) {
	arm := func(m, s float64) []float64 { return []float64{math.Exp(m - s), math.Exp(m + s)} }
	for _, c := range []struct {
		name         string
		is, was      Sides
		estimate, df float64
	}{
		{"alike", Sides{arm(2, 0.1), arm(1, 0.1)}, Sides{arm(5, 0.1), arm(4, 0.1)}, 0, 4},
		{"larger here", Sides{arm(2.5, 0.1), arm(1, 0.1)}, Sides{arm(5, 0.1), arm(4, 0.1)}, 0.5, 4},
		{"smaller here", Sides{arm(2, 0.1), arm(1, 0.1)}, Sides{arm(5.5, 0.1), arm(4, 0.1)}, -0.5, 4},
		{"levels", Sides{Own: arm(2.5, 0.1)}, Sides{Own: arm(2, 0.1)}, 0.5, 2},
		{"only one varies", Sides{arm(2, 0.1), arm(1, 0)}, Sides{arm(2, 0), arm(1, 0)}, 0, 1},
	} {
		d, err := Apart(c.is, c.was, 0.05)
		if err != nil || !d.Bounded {
			t.Fatalf("%s: %+v %v", c.name, d, err)
		}
		near(t, c.name, d.Estimate, c.estimate, 1e-12)
		near(t, c.name+": df", d.DF, c.df, 1e-9)
		se := 0.1 * math.Sqrt(c.df)
		near(t, c.name+": low", d.Low, c.estimate-Quantile(0.025, c.df)*se, 1e-9)
		near(t, c.name+": high", d.High, c.estimate+Quantile(0.025, c.df)*se, 1e-9)
		if wide, _ := Apart(c.is, c.was, 0.01); wide.Low >= d.Low || wide.High <= d.High {
			t.Errorf("%s: 99%% is no wider than 95%%", c.name)
		}
	}
}

func TestApartOfTooLittle(t *testing.T) {
	two, one := []float64{1, 2}, []float64{1}
	for _, c := range []struct{ is, was Sides }{
		{Sides{one, two}, Sides{two, two}},
		{Sides{two, two}, Sides{two, one}},
	} {
		if d, err := Apart(c.is, c.was, 0.05); err != nil || d.Bounded {
			t.Errorf("%v: %+v %v", c, d, err)
		}
	}
	still := Sides{[]float64{3, 3}, []float64{2, 2}}
	if d, err := Apart(still, still, 0.05); err != nil || !d.Bounded || d.Low != 0 || d.High != 0 {
		t.Errorf("%+v %v", d, err)
	}
	for _, c := range []struct{ is, was Sides }{
		{Sides{}, Sides{}},
		{Sides{two, nil}, Sides{two, two}},
		{Sides{two, two}, Sides{two, nil}},
		{Sides{[]float64{0, 1}, two}, Sides{two, two}},
		{Sides{[]float64{math.NaN(), 1}, two}, Sides{two, two}},
	} {
		if d, err := Apart(c.is, c.was, 0.05); err == nil {
			t.Errorf("%v: %+v", c, d)
		}
	}
}
