package stats

import (
	"math"
	"testing"
)

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
