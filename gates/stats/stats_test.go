package stats

import (
	"errors"
	"math"
	"testing"
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
		got, err := Mean(c.values)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "mean", got, c.mean, c.mean*1e-12)
		got, err = ArithmeticMean(c.values)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "arithmetic mean", got, c.arithmetic, c.arithmetic*1e-12)
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
		if _, err := Differ(bad, some, true, false); err == nil {
			t.Errorf("%v has a ratio", bad)
		}
		if _, err := Differ(some, bad, true, false); err == nil {
			t.Errorf("%v has a ratio", bad)
		}
	}
	if positive(nil) || positive([]float64{1, math.NaN()}) || positive([]float64{0}) || !positive([]float64{0.1}) {
		t.Error("Positive")
	}
}

func TestWelchAgainstWorkedCases(t *testing.T) {
	for _, c := range readWorked(t).Golden {
		t.Run(c.Name, func(t *testing.T) {
			d, err := Differ(c.Candidate, c.Baseline, true, false)
			if err != nil || !d.Bounded {
				t.Fatal(err, d)
			}
			near(t, "estimate", 100*math.Expm1(d.Estimate), c.Est, 1e-9)
			near(t, "standard error", d.SE, c.SE, 1e-12)
			near(t, "degrees of freedom", d.DF, c.DF, 1e-9)
			near(t, "middle", (d.Low+d.High)/2, d.Estimate, 1e-12)
		})
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
