package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestArrivalsExactly(t *testing.T) {
	for _, tt := range []struct {
		name string
		pace Pace
		n    int
		want string // µs
	}{
		{"constant", Pace{Arrival: Constant, Rate: 4}, 4, "[0 250000 500000 750000]"},
		{"poisson", Pace{Arrival: Poisson, Rate: 10, Seed: 7}, 5, goldenPoisson},
		{"one", Pace{Arrival: Constant, Rate: 1}, 1, "[0]"},
		{"none", Pace{Arrival: Poisson, Rate: 1}, 0, "[]"},
	} {
		at, err := tt.pace.arrivals(tt.n)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		us := make([]int64, len(at))
		for i := range at {
			us[i] = at[i].Microseconds()
		}
		if got := fmt.Sprint(us); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// As first drawn: if they change, arrivals differ, and earlier measurements cannot be compared with later ones.
const goldenPoisson = "[0 120700 254952 431837 479456]"

// gapsOf are the gaps of a process in units of their mean.
func gapsOf(t *testing.T, p Pace, n int) []float64 {
	t.Helper()
	at, err := p.arrivals(n + 1)
	if err != nil {
		t.Fatal(err)
	}
	gaps := make([]float64, n)
	for i := range gaps {
		gaps[i] = (at[i+1] - at[i]).Seconds() * p.Rate
	}
	return gaps
}

func moments(x []float64) (mean, cv, skew float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	m2, m3 := 0.0, 0.0
	for _, v := range x {
		m2 += math.Pow(v-mean, 2) / float64(len(x))
		m3 += math.Pow(v-mean, 3) / float64(len(x))
	}
	return mean, math.Sqrt(m2) / mean, m3 / math.Pow(m2, 1.5)
}

// kolmogorov is the largest distance between the sample and a distribution.
func kolmogorov(x []float64, cdf func(float64) float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	d, n := 0.0, float64(len(x))
	for i, v := range x {
		f := cdf(v)
		d = max(d, math.Abs(f-float64(i)/n), math.Abs(float64(i+1)/n-f))
	}
	return d
}

// The seeds are fixed, so the distances are too; 1.63/√n is the 1% limit.
func TestArrivalsFollowTheirDistribution(t *testing.T) {
	const n = 20000
	for seed := range int64(3) {
		gaps := gapsOf(t, Pace{Arrival: Poisson, Rate: 3, Seed: seed}, n)
		mean, cv, skew := moments(gaps)
		if math.Abs(mean-1) > 0.03 || math.Abs(cv-1) > 0.03 || math.Abs(skew/2-1) > 0.15 {
			t.Errorf("mean %.3f, cv %.3f, skewness %.3f", mean, cv, skew)
		}
		if d := kolmogorov(gaps, func(x float64) float64 { return 1 - math.Exp(-x) }); d > 1.63/math.Sqrt(n) {
			t.Errorf("distance %.4f from its distribution", d)
		}
	}
}

func TestArrivalsAreTheSameForAllArms(t *testing.T) {
	p := Pace{Arrival: Poisson, Rate: 5, Seed: 3}
	a, _ := p.arrivals(100)
	b, _ := p.arrivals(100)
	if !slices.Equal(a, b) || !slices.IsSorted(a) {
		t.Error("the same pace gave other arrivals, or none in order")
	}
	p.Seed = 4
	if c, _ := p.arrivals(100); slices.Equal(a, c) {
		t.Error("another seed gave the same arrivals")
	}
	// An arrival depends on no later one.
	long, _ := p.arrivals(100)
	if short, _ := p.arrivals(10); !slices.Equal(short, long[:10]) {
		t.Error("arrivals depend on how many there are")
	}
}

func TestPaceRefuses(t *testing.T) {
	nan := math.NaN()
	for want, p := range map[string]Pace{
		"negative":       {Concurrency: -1},
		"needs an":       {Rate: 3},
		"unknown":        {Arrival: "uniform", Rate: 1},
		"rate of 0":      {Arrival: Poisson},
		"rate of NaN":    {Arrival: Poisson, Rate: nan},
		"rate of +Inf":   {Arrival: Constant, Rate: math.Inf(1)},
		"due after more": {Arrival: Constant, Rate: 1e-300},
	} {
		err := p.check()
		if err == nil {
			_, err = p.arrivals(2)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", p, err, want)
		}
	}
}
