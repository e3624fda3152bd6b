package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// series makes n readings, each from the previous one.
func series(n int, next func(i int, last float64) float64) (x, y []float64) {
	last := 0.0
	for i := range n {
		last = next(i, last)
		x, y = append(x, float64(i)), append(y, last)
	}
	return x, y
}

func TestTrend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		next func(i int, last float64) float64
		want string
	}{
		"constant":        {func(int, float64) float64 { return 7 }, "none"},
		"line":            {func(i int, _ float64) float64 { return 3 * float64(i) }, "grows"},
		"noisy line":      {func(i int, _ float64) float64 { return 3*float64(i) + 20*r.NormFloat64() }, "grows"},
		"falling":         {func(i int, _ float64) float64 { return -float64(i) }, "falls"},
		"noise":           {func(int, float64) float64 { return r.NormFloat64() }, "none"},
		"one jump":        {func(i int, _ float64) float64 { return map[bool]float64{true: 500}[i > 90] }, "none"},
		"jump at the end": {func(i int, _ float64) float64 { return map[bool]float64{true: 500}[i > 195] }, "none"},
		"saw teeth":       {func(i int, _ float64) float64 { return float64(i % 30) }, "none"},
		"leaking teeth":   {func(i int, _ float64) float64 { return float64(i%10) + float64(i) }, "grows"},
	} {
		in, err := Trend(series(200, c.next))
		if err != nil || !in.Bounded {
			t.Fatalf("%s: %+v, %v", name, in, err)
		}
		got := "none"
		switch {
		case in.Low > 0:
			got = "grows"
		case in.High < 0:
			got = "falls"
		}
		if got != c.want {
			t.Errorf("%s: %s (%+v), want %s", name, got, in, c.want)
		}
	}
	if in, _ := Trend(series(200, func(i int, _ float64) float64 { return 3 * float64(i) })); math.Abs(in.Mean-3) > 1e-9 || in.High-in.Low > 1e-9 {
		t.Errorf("a line of slope 3: %+v", in)
	}
}

// TestTrendHolds counts how often the interval misses a slope of zero, for errors that
// are independent, dependent, or a random walk, which a regression would call a trend
// every other time.
func TestTrendHolds(t *testing.T) {
	for name, keep := range map[string]float64{"independent": 0, "dependent": 0.9, "walk": 1} {
		r := rand.New(rand.NewPCG(3, 4))
		missed := 0
		const runs = 2000
		for range runs {
			in, err := Trend(series(100, func(_ int, last float64) float64 { return keep*last + r.NormFloat64() }))
			if err != nil {
				t.Fatal(err)
			}
			if in.Low > 0 || in.High < 0 {
				missed++
			}
		}
		// 5% of 2000, plus four standard errors of that.
		if missed > 140 {
			t.Errorf("%s: %d of %d intervals miss", name, missed, runs)
		}
	}
}

func TestTrendRefuses(t *testing.T) {
	x, y := series(20, func(i int, _ float64) float64 { return float64(i) })
	bad := func(change func(x, y []float64)) ([]float64, []float64) {
		x, y := append([]float64{}, x...), append([]float64{}, y...)
		change(x, y)
		return x, y
	}
	for name, c := range map[string]func(x, y []float64){
		"NaN":       func(_, y []float64) { y[3] = math.NaN() },
		"infinite":  func(x, _ []float64) { x[19] = math.Inf(1) },
		"backwards": func(x, _ []float64) { x[5] = 0 },
		"one place": func(x, _ []float64) { clear(x) },
		"a gap":     func(x, _ []float64) { x[19] = 1000 },
	} {
		if in, err := Trend(bad(c)); err == nil {
			t.Errorf("%s: %+v", name, in)
		}
	}
	if _, err := Trend(x[:9], y[:9]); err == nil {
		t.Error("nine readings are enough")
	}
	if _, err := Trend(x, y[:9]); err == nil {
		t.Error("other numbers of both are taken")
	}
	if _, err := Trend(nil, nil); err == nil {
		t.Error("nothing is enough")
	}
}
