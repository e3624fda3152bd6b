package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name    string
		drifts  []float64
		mean, p float64
		flagged bool
	}{
		// T is 0.02/(0.002/√4) = 20 with 3 degrees of freedom.
		{"faster at first", []float64{0.02 + 0.003/math.Sqrt2, 0.02 - 0.003/math.Sqrt2, 0.02 + 0.003/math.Sqrt2, 0.02 - 0.003/math.Sqrt2}, 0.02, 0.00046, true},
		{"certain but small", []float64{0.004, 0.0041, 0.0039, 0.004}, 0.004, 0, false},
		{"large but uncertain", []float64{0.1, -0.05, 0.06, -0.03}, 0.02, 0.6156, false},
		{"all alike", []float64{-0.01, -0.01, -0.01}, -0.01, 0, true},
		{"none", []float64{0, 0, 0}, 0, 1, false},
		{"one launch", []float64{0.5}, 0, 1, false},
		{"no launch", nil, 0, 1, false},
	} {
		mean, p, flagged := Drift(c.drifts)
		near(t, c.name+", mean", mean, c.mean, 1e-9)
		near(t, c.name+", p", p, c.p, 0.006)
		if flagged != c.flagged {
			t.Errorf("%s: flagged %v at p %v", c.name, flagged, p)
		}
	}
	if _, _, flagged := Drift([]float64{0, math.NaN()}); !flagged {
		t.Error("what is no number counts as steady")
	}
}

func TestPool(t *testing.T) {
	e := math.Exp
	sd, df := Pool([][]float64{
		{e(1), e(3)},         // variance 2 at 1 degree of freedom
		{e(10), e(11), e(9)}, // variance 1 at 2
		{5},                  // one launch tells nothing
		{0, 5}, {math.NaN(), 5}, nil,
	})
	near(t, "sd", sd, math.Sqrt(4.0/3), 1e-12)
	near(t, "df", df, 3, 0)
	if sd, df := Pool([][]float64{{1}, {0, 2}}); sd != 0 || df != 0 {
		t.Error(sd, df)
	}
}

// By hand: of {1, 3}, {5, 7, 9} the mean squares are 10/3 within at 3 degrees of freedom
// and 30 between at 1, and n₀ is (5 − 13/5)/1.
func TestNested(t *testing.T) {
	e := math.Exp
	for _, c := range []struct {
		name                string
		groups              [][]float64
		within, between, df float64
	}{
		{"unequal", [][]float64{{e(1), e(3)}, {e(5), e(7), e(9)}}, math.Sqrt(10.0 / 3), math.Sqrt((30 - 10.0/3) / 2.4), 3},
		{"equal", [][]float64{{e(1), e(3)}, {e(5), e(7)}}, math.Sqrt2, math.Sqrt(7), 2},
		{"one value in a group", [][]float64{{e(1), e(3)}, {e(5)}}, math.Sqrt2, math.Sqrt(4.0 / (4.0 / 3)), 1},
		{"negative", [][]float64{{e(1), e(9)}, {e(2), e(8)}}, 5, 0, 2},
		{"one group", [][]float64{{e(1), e(3)}, {0, 1}, nil}, math.Sqrt2, math.NaN(), 1},
		{"no group of two", [][]float64{{1}, {2}}, math.NaN(), math.NaN(), 0},
	} {
		within, between, df := Nested(c.groups)
		for what, of := range map[string][2]float64{"within": {within, c.within}, "between": {between, c.between}} {
			if got, want := of[0], of[1]; !(math.Abs(got-want) < 1e-12 || math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s, %s: %v, want %v", c.name, what, got, want)
			}
		}
		near(t, c.name+" df", df, c.df, 0)
	}
}

func TestAtMost(t *testing.T) {
	near(t, "0 of 100", AtMost(0, 100, 0.95), 1-math.Pow(0.05, 0.01), 1e-9) // 2.95%
	near(t, "0 of 3", AtMost(0, 3, 0.95), 1-math.Cbrt(0.05), 1e-9)
	near(t, "1 of 100", AtMost(1, 100, 0.95), 0.046559, 1e-5) // from tables
	for _, one := range []float64{AtMost(0, 0, 0.95), AtMost(5, 5, 0.95), AtMost(-1, 5, 0.95), AtMost(6, 5, 0.95), AtMost(0, 5, 1), AtMost(0, 5, math.NaN())} {
		if one != 1 {
			t.Errorf("bounded by %v", one)
		}
	}
}

func TestLogsOf(t *testing.T) {
	xs, err := logsOf([]float64{1, math.E})
	if err != nil || xs[0] != 0 || xs[1] != 1 {
		t.Fatal(xs, err)
	}
	_, err = logsOf([]float64{3, 0, 2})
	if err == nil || !strings.Contains(err.Error(), "number 2 of 3 is 0") {
		t.Error(err)
	}
}

// The chance that a look projects is the one that decides futility; there is none without
// p values, and none at the look itself.
func TestProject(t *testing.T) {
	q := asked(Question{Candidate: []float64{0.02, 0.05, 0.01, 0.06}, Base: around(0, 4)})
	_, looks, err := Sequential(q, Design{Looks: []int{4, 8}})
	if err != nil || looks[0].Chance == 0 {
		t.Fatal(looks, err)
	}
	l := looks[0]
	pass, fail := q.project(l, 8, Design{})
	near(t, "chance", pass+fail, l.Chance, 0)
	for _, none := range []Look{{N: 4}, {N: 4, Estimate: 1, SE: math.NaN(), DF: 3}} {
		if p, f := q.project(none, 8, Design{}); p != 0 || f != 0 {
			t.Errorf("%+v projects %v and %v", none, p, f)
		}
	}
	if p, f := q.project(l, 4, Design{}); p != 0 || f != 0 {
		t.Error("a look projects to itself")
	}
}

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
