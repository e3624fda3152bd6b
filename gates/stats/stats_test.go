package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

func TestMeans(t *testing.T) {
	for _, c := range []struct {
		values           []float64
		mean, arithmetic float64
	}{
		{[]float64{4}, 4, 4},
		{[]float64{1, 4}, 2, 2.5},
		{[]float64{1, 10, 100}, 10, 37},
		{[]float64{0, 1}, 0.5, 0.5}, // not all above zero: no logs
		{[]float64{-1, 3}, 1, 1},
		{[]float64{1e300, 1e300}, 1e300, 1e300},
	} {
		near(t, "mean", must.Get(Mean(c.values))(t), c.mean, c.mean*1e-12)
		near(t, "arithmetic mean", must.Get(ArithmeticMean(c.values))(t), c.arithmetic, c.arithmetic*1e-12)
	}
}

func TestNothingAndNoNumbers(t *testing.T) {
	some := []float64{1, 2}
	for _, bad := range [][]float64{nil, {}, {math.NaN()}, {1, math.Inf(1)}, {math.Inf(-1), 1}} {
		want := errNotFinite
		if len(bad) == 0 {
			want = errEmpty
		}
		_, mean := Mean(bad)
		_, arithmetic := ArithmeticMean(bad)
		_, logs := Differ(bad, some, true, false)
		_, logsOf := Differ(some, bad, true, false)
		_, raw := Differ(bad, some, false, false)
		_, rawOf := Differ(some, bad, false, false)
		for i, err := range []error{mean, arithmetic, logs, logsOf, raw, rawOf} {
			if !errors.Is(err, want) {
				t.Errorf("%v, %d: %v", bad, i, err)
			}
		}
	}
	for _, bad := range [][]float64{{0, 1}, {-1, 1}} {
		_, own := Differ(bad, some, true, false)
		_, base := Differ(some, bad, true, false)
		if own == nil || base == nil {
			t.Errorf("%v has a ratio", bad)
		}
	}
}

// With equal variances and n per side there are 2(n−1) degrees of freedom, for which the quantiles are in every table.
func TestIntervalsByHand(t *testing.T) {
	for _, c := range []struct {
		a, b         []float64
		estimate, se float64
		quantile     float64
	}{
		{[]float64{11, 13}, []float64{1, 3}, 10, math.Sqrt2, 4.302652729911275},                               // df 2
		{[]float64{11, 12, 13}, []float64{1, 2, 3}, 10, math.Sqrt(2.0 / 3), 2.7764451051977987},               // df 4
		{[]float64{1, 2, 3, 4, 5, 6}, []float64{6, 5, 4, 3, 2, 1}, 0, math.Sqrt(3.5 / 3), 2.2281388519649385}, // df 10
		// one side without noise: df 2
		{[]float64{5, 5, 5}, []float64{1, 2, 3}, 3, math.Sqrt(1.0 / 3), 4.302652729911275},
	} {
		d, err := Differ(c.a, c.b, false, false)
		if err != nil || !d.Bounded {
			t.Fatal(err, d)
		}
		near(t, "estimate", d.Estimate, c.estimate, 1e-12)
		near(t, "low", d.Low, c.estimate-c.quantile*c.se, 1e-8)
		near(t, "high", d.High, c.estimate+c.quantile*c.se, 1e-8)
	}
}

func TestNoIntervalWhereNothingCanBeSaid(t *testing.T) {
	for _, c := range [][2][]float64{
		{{1}, {1, 2}},
		{{1, 2}, {1}},
		{{3, 3}, {2, 2}},
		{{math.MaxFloat64, -math.MaxFloat64}, {1, 2}},
	} {
		if d, err := Differ(c[0], c[1], false, false); err != nil || d.Bounded {
			t.Errorf("%v: %+v %v", c, d, err)
		}
	}
	// Very small and very large numbers neither panic nor lose their interval.
	for _, scale := range []float64{1e-150, 1e-100, 1e100, 1e150} {
		d, err := Differ([]float64{1 * scale, 2 * scale}, []float64{3 * scale, 4 * scale}, false, false)
		if err != nil || !d.Bounded || math.IsNaN(d.Low) || math.Abs(d.DF-2) > 1e-9 {
			t.Errorf("%g: %+v %v", scale, d, err)
		}
	}
}

func TestPairedDrop(t *testing.T) {
	const z2 = 2.3263478740408408 * 2.3263478740408408
	if got, want := PairedDrop(0, 0, 500), z2/(500+z2); math.Abs(got-want) > 1e-9 {
		t.Errorf("without a lost pair: %v, want %v", got, want)
	}
	for _, wrong := range [][3]int{{0, 0, 0}, {-1, 0, 5}, {3, 3, 5}} {
		must.Equal(t, wrong, PairedDrop(wrong[0], wrong[1], wrong[2]), 1)
	}
	// Of true drops, about 1% lie above the bound.
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range [][2]float64{{0.02, 0}, {0.05, 0.03}, {0.2, 0.1}} {
		missed := 0
		const tries, n = 8000, 500
		for range tries {
			lost, won := 0, 0
			for range n {
				switch u := r.Float64(); {
				case u < c[0]:
					lost++
				case u < c[0]+c[1]:
					won++
				}
			}
			if PairedDrop(lost, won, n) < c[0]-c[1] {
				missed++
			}
		}
		if share := float64(missed) / tries; share > 0.016 {
			t.Errorf("lost %v, won %v: %.3f of the bounds are too low, want about 0.01", c[0], c[1], share)
		}
	}
}

// The bounds of Wilson's interval for 15 of 148 and of Newcombe's for 56 of 70 beside 48
// of 80, at 95%, are those that Newcombe's papers of 1998 print.
func TestShare(t *testing.T) {
	const z, many = 1.959964, math.MaxInt32
	near := func(got, want float64) bool { return math.Abs(got-want) < 5e-5 }
	if low, high := (Share{15, 148, many}).Bounds(z); !near(low, 0.0624) || !near(high, 0.1605) {
		t.Errorf("%v to %v", low, high)
	}
	if low, high := (Share{56, 70, many}).Excess(Share{48, 80, many}, z); !near(low, 0.0524) || !near(high, 0.3339) {
		t.Errorf("%v to %v", low, high)
	}
	if low, high := (Share{7, 8, 8}).Bounds(z); low != 0.875 || high != 0.875 {
		t.Errorf("all looked at: %v to %v", low, high)
	}
	few, _ := (Share{8, 8, many}).Bounds(z)
	if low, high := (Share{8, 8, 16}).Bounds(z); low <= few || high != 1 {
		t.Errorf("half looked at: %v to %v, a sample %v", low, high, few)
	}
	if low, high := (Share{}).Bounds(z); low != 0 || high != 1 {
		t.Errorf("none looked at: %v to %v", low, high)
	}
	if low, high := (Share{}).Excess(Share{1, 1, 1}, z); low != -1 || high != 1 {
		t.Errorf("none looked at: %v to %v", low, high)
	}
}

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
	if p, _, err := Signs(nil); !errors.Is(err, errEmpty) || p != 1 {
		t.Errorf("nothing: %v, %v", p, err)
	}
	if p, _, err := Signs([]float64{1, math.NaN()}); !errors.Is(err, errNotFinite) || p != 1 {
		t.Errorf("NaN: %v, %v", p, err)
	}
}

// Wanted numbers are from the definition: the geometric mean of 1, 10 and 100 is 10, the standard deviation of their
// logs is ln 10, and the 0.975 quantile of t with 2 degrees of freedom is 4.302653.
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
		{
			"zero keeps it arithmetic",
			[]float64{0, 1, 2},
			1, 1, 1 - 4.302653/math.Sqrt(3),
			1 + 4.302653/math.Sqrt(3), true,
		},
		{"one", []float64{7}, 7, 0, 0, 0, false},
		{"nothing varies", []float64{3, 3, 3}, 3, 0, 0, 0, false},
	} {
		got, err := SampleOf(c.values)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Max(1, math.Abs(b)) }
		if !near(got.Mean, c.mean) || !near(got.SD, c.sd) || (got.Low != nil) != c.bounded || c.bounded &&
			(!near(*got.Low, c.low) || !near(*got.High, c.high)) {
			t.Errorf("%s: got %+v, want %v ± %v [%v, %v] %v", c.name, got, c.mean, c.sd, c.low, c.high, c.bounded)
		}
	}
	if _, err := SampleOf(nil); !errors.Is(err, errEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := SampleOf([]float64{1, math.NaN()}); !errors.Is(err, errNotFinite) {
		t.Errorf("of NaN: %v", err)
	}
}

// A quantile has the tail that it was asked for.
func TestQuantile(t *testing.T) {
	for _, df := range []float64{1, 1.5, 2, 2.7, 4, 9.91, 14, 22, 100, 1e4} {
		for _, p := range []float64{1e-6, 7e-5, 0.002 / 40, 0.002, 0.015, 0.1, 0.4999, 0.5, 0.7, 0.999} {
			near(t, "tail of the quantile", tail(Quantile(p, df), df), p, 1e-9*p)
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
		near(t, "tail", tail(c.t, c.df), c.want, 1e-15)
	}
	for _, nan := range []float64{
		tail(1, 0), tail(1, math.NaN()), tail(math.NaN(), 2), Quantile(0, 3), Quantile(1, 3),
		Quantile(0.1, 0), Quantile(math.NaN(), 3),
	} {
		if !math.IsNaN(nan) {
			t.Errorf("%v of what has none", nan)
		}
	}
}

func TestRange(t *testing.T) {
	base := []float64{100, 102}
	for _, c := range []struct {
		name      string
		q         RangeQuestion
		want      Outcome
		low, high float64
	}{
		{
			"the worst pair keeps to it",
			RangeQuestion{Candidate: []float64{103, 105}, Base: base, Limit: 5},
			Passed, 1,
			5,
		},
		{
			"strictly it does not",
			RangeQuestion{Candidate: []float64{103, 105}, Base: base, Limit: 5, Strict: true},
			Open, 1, 5,
		},
		{"some pairs do not", RangeQuestion{Candidate: []float64{103, 106}, Base: base, Limit: 5}, Open, 1, 6},
		{"even the best does not", RangeQuestion{Candidate: []float64{108, 109}, Base: base, Limit: 5}, Failed, 6, 9},
		{"the best is just at it", RangeQuestion{Candidate: []float64{107, 109}, Base: base, Limit: 5}, Open, 5, 9},
		{
			"which is too much strictly",
			RangeQuestion{Candidate: []float64{107, 109}, Base: base, Limit: 5, Strict: true},
			Failed, 5, 9,
		},
		{
			"in parts of the base",
			RangeQuestion{Candidate: []float64{102}, Base: base, Relative: true, Limit: 0.05},
			Passed, 0, 0.02,
		},
		{
			"at least, of two arms",
			RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 8, More: true},
			Passed, 8, 12,
		},
		{
			"at least, not reached",
			RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 13, More: true},
			Failed, 8, 12,
		},
		{
			"at least, in doubt",
			RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 12, More: true},
			Open,
			8, 12,
		},
		{"at least, in doubt no more", RangeQuestion{
			Candidate: []float64{110, 112}, Base: base, Limit: 12, More: true,
			Strict: true,
		}, Failed, 8, 12},
		{
			"at the limit but for rounding",
			RangeQuestion{Candidate: []float64{1.1}, Base: []float64{1}, Limit: 0.1},
			Passed, 0.1, 0.1,
		},
		{
			"strictly at it",
			RangeQuestion{Candidate: []float64{1.1}, Base: []float64{1}, Limit: 0.1, Strict: true},
			Failed, 0.1, 0.1,
		},
		{
			"at it in parts",
			RangeQuestion{Candidate: []float64{21}, Base: []float64{20}, Relative: true, Limit: 0.05},
			Passed, 0.05, 0.05,
		},
		{"beyond it by more than rounding", RangeQuestion{
			Candidate: []float64{1.1 + 1e-9}, Base: []float64{1},
			Limit: 0.1,
		}, Failed, 0.1 + 1e-9, 0.1 + 1e-9},
		{"one arm", RangeQuestion{Candidate: []float64{7, 9}, Single: true, Limit: 9}, Passed, 7, 9},
		{"one arm in doubt", RangeQuestion{Candidate: []float64{7, 9}, Single: true, Limit: 8}, Open, 7, 9},
		{"one launch", RangeQuestion{Candidate: []float64{7}, Single: true, Limit: 0, More: true}, Passed, 7, 7},
	} {
		got, low, high, err := Range(c.q)
		if err != nil || got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
		near(t, c.name+", low", low, c.low, 1e-12)
		near(t, c.name+", high", high, c.high, 1e-12)
	}
	for name, q := range map[string]RangeQuestion{
		"no candidate":  {Base: base},
		"no base":       {Candidate: base},
		"NaN":           {Candidate: []float64{math.NaN()}, Single: true},
		"NaN limit":     {Candidate: base, Single: true, Limit: math.NaN()},
		"zero base":     {Candidate: base, Base: []float64{0, 1}, Relative: true},
		"negative":      {Candidate: []float64{-1}, Base: base, Relative: true},
		"overflow":      {Candidate: []float64{math.MaxFloat64}, Base: []float64{-math.MaxFloat64}},
		"base infinite": {Candidate: base, Base: []float64{math.Inf(1)}},
	} {
		if got, _, _, err := Range(q); err == nil || got != Open {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestDrift(t *testing.T) {
	for _, c := range []struct {
		name    string
		drifts  []float64
		mean, p float64
		flagged bool
	}{
		// T is 0.02/(0.002/√4) = 20 with 3 degrees of freedom.
		{"faster at first", []float64{
			0.02 + 0.003/math.Sqrt2, 0.02 - 0.003/math.Sqrt2, 0.02 + 0.003/math.Sqrt2,
			0.02 - 0.003/math.Sqrt2,
		}, 0.02, 0.00046, true},
		{"certain but small", []float64{0.004, 0.0041, 0.0039, 0.004}, 0.004, 0, false},
		{"large but uncertain", []float64{0.1, -0.05, 0.06, -0.03}, 0.02, 0.6156, false},
		{"all alike", []float64{-0.01, -0.01, -0.01}, -0.01, 0, true},
		{"one launch", []float64{0.5}, 0, 1, false},
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
		{
			"unequal",
			[][]float64{{e(1), e(3)}, {e(5), e(7), e(9)}},
			math.Sqrt(10.0 / 3), math.Sqrt((30 - 10.0/3) / 2.4),
			3,
		},
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
	for _, one := range []float64{
		AtMost(0, 0, 0.95), AtMost(5, 5, 0.95), AtMost(-1, 5, 0.95), AtMost(6, 5, 0.95),
		AtMost(0, 5, 1), AtMost(0, 5, math.NaN()),
	} {
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
		"constant":      {func(int, float64) float64 { return 7 }, "none"},
		"line":          {func(i int, _ float64) float64 { return 3 * float64(i) }, "grows"},
		"noisy line":    {func(i int, _ float64) float64 { return 3*float64(i) + 20*r.NormFloat64() }, "grows"},
		"falling":       {func(i int, _ float64) float64 { return -float64(i) }, "falls"},
		"noise":         {func(int, float64) float64 { return r.NormFloat64() }, "none"},
		"one jump":      {func(i int, _ float64) float64 { return map[bool]float64{true: 500}[i > 90] }, "none"},
		"saw teeth":     {func(i int, _ float64) float64 { return float64(i % 30) }, "none"},
		"leaking teeth": {func(i int, _ float64) float64 { return float64(i%10) + float64(i) }, "grows"},
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
		must.Equal(t, fmt.Sprint(name, " ", in), got, c.want)
	}
	if in, _ := Trend(series(200, func(i int, _ float64) float64 { return 3 * float64(i) })); math.Abs(in.Mean-3) >
		1e-9 || in.High-in.Low > 1e-9 {
		t.Errorf("a line of slope 3: %+v", in)
	}
}

// TestTrendHolds counts how often the interval misses a slope of zero, for errors that are independent, dependent, or a
// random walk, which a regression would call a trend every other time.
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
