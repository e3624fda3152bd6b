package stats

import (
	"errors"
	"math"
	"math/rand/v2"
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
		want := ErrNotFinite
		if len(bad) == 0 {
			want = ErrEmpty
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

// With equal variances and n per side there are 2(n−1) degrees of freedom, for which the
// quantiles are in every table.
func TestIntervalsByHand(t *testing.T) {
	for _, c := range []struct {
		a, b         []float64
		estimate, se float64
		quantile     float64
	}{
		{[]float64{11, 13}, []float64{1, 3}, 10, math.Sqrt2, 4.302652729911275},                               // df 2
		{[]float64{11, 12, 13}, []float64{1, 2, 3}, 10, math.Sqrt(2.0 / 3), 2.7764451051977987},               // df 4
		{[]float64{1, 2, 3, 4, 5, 6}, []float64{6, 5, 4, 3, 2, 1}, 0, math.Sqrt(3.5 / 3), 2.2281388519649385}, // df 10
		{[]float64{5, 5, 5}, []float64{1, 2, 3}, 3, math.Sqrt(1.0 / 3), 4.302652729911275},                    // one side without noise: df 2
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
		if got := PairedDrop(wrong[0], wrong[1], wrong[2]); got != 1 {
			t.Errorf("%v: %v, want 1, which says nothing", wrong, got)
		}
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
	if p, _, err := Signs(nil); !errors.Is(err, ErrEmpty) || p != 1 {
		t.Errorf("nothing: %v, %v", p, err)
	}
	if p, _, err := Signs([]float64{1, math.NaN()}); !errors.Is(err, ErrNotFinite) || p != 1 {
		t.Errorf("NaN: %v, %v", p, err)
	}
}

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

// A quantile has the tail that it was asked for.
func TestQuantile(t *testing.T) {
	for _, df := range []float64{1, 1.5, 2, 2.7, 4, 9.91, 14, 22, 100, 1e4} {
		for _, p := range []float64{1e-6, 7e-5, 0.002 / 40, 0.002, 0.015, 0.1, 0.4999, 0.5, 0.7, 0.999} {
			near(t, "tail of the quantile", Tail(Quantile(p, df), df), p, 1e-9*p)
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
		near(t, "tail", Tail(c.t, c.df), c.want, 1e-15)
	}
	for _, nan := range []float64{Tail(1, 0), Tail(1, math.NaN()), Tail(math.NaN(), 2), Quantile(0, 3), Quantile(1, 3), Quantile(0.1, 0), Quantile(math.NaN(), 3)} {
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
		{"the worst pair keeps to it", RangeQuestion{Candidate: []float64{103, 105}, Base: base, Limit: 5}, Passed, 1, 5},
		{"strictly it does not", RangeQuestion{Candidate: []float64{103, 105}, Base: base, Limit: 5, Strict: true}, Open, 1, 5},
		{"some pairs do not", RangeQuestion{Candidate: []float64{103, 106}, Base: base, Limit: 5}, Open, 1, 6},
		{"even the best does not", RangeQuestion{Candidate: []float64{108, 109}, Base: base, Limit: 5}, Failed, 6, 9},
		{"the best is just at it", RangeQuestion{Candidate: []float64{107, 109}, Base: base, Limit: 5}, Open, 5, 9},
		{"which is too much strictly", RangeQuestion{Candidate: []float64{107, 109}, Base: base, Limit: 5, Strict: true}, Failed, 5, 9},
		{"in parts of the base", RangeQuestion{Candidate: []float64{102}, Base: base, Relative: true, Limit: 0.05}, Passed, 0, 0.02},
		{"too much in parts", RangeQuestion{Candidate: []float64{204}, Base: base, Relative: true, Limit: 0.05}, Failed, 1, 1.04},
		{"at least, of two arms", RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 8, More: true}, Passed, 8, 12},
		{"at least, not reached", RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 13, More: true}, Failed, 8, 12},
		{"at least, in doubt", RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 12, More: true}, Open, 8, 12},
		{"at least, in doubt no more", RangeQuestion{Candidate: []float64{110, 112}, Base: base, Limit: 12, More: true, Strict: true}, Failed, 8, 12},
		{"at the limit but for rounding", RangeQuestion{Candidate: []float64{1.1}, Base: []float64{1}, Limit: 0.1}, Passed, 0.1, 0.1},
		{"strictly at it", RangeQuestion{Candidate: []float64{1.1}, Base: []float64{1}, Limit: 0.1, Strict: true}, Failed, 0.1, 0.1},
		{"at it in parts", RangeQuestion{Candidate: []float64{21}, Base: []float64{20}, Relative: true, Limit: 0.05}, Passed, 0.05, 0.05},
		{"at it in parts, strictly", RangeQuestion{Candidate: []float64{10.1}, Base: []float64{10}, Relative: true, Limit: 0.01, Strict: true}, Failed, 0.01, 0.01},
		{"at least that, but for rounding", RangeQuestion{Candidate: []float64{95000}, Base: []float64{100000}, Relative: true, Limit: -0.05, More: true}, Passed, -0.05, -0.05},
		{"beyond it by more than rounding", RangeQuestion{Candidate: []float64{1.1 + 1e-9}, Base: []float64{1}, Limit: 0.1}, Failed, 0.1 + 1e-9, 0.1 + 1e-9},
		{"one arm", RangeQuestion{Candidate: []float64{7, 9}, Single: true, Limit: 9}, Passed, 7, 9},
		{"one arm in doubt", RangeQuestion{Candidate: []float64{7, 9}, Single: true, Limit: 8}, Open, 7, 9},
		{"one arm beyond", RangeQuestion{Candidate: []float64{7, 9}, Single: true, Limit: 6}, Failed, 7, 9},
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
