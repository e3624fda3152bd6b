package load

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestArrivalsExactly(t *testing.T) {
	tests := []struct {
		name string
		pace Pace
		n    int
		want string // µs
	}{
		{"constant", Pace{Arrival: Constant, Rate: 4}, 4, "[0 250000 500000 750000]"},
		// From 1 to 3 per second over 4 intervals: mean 2, so 2 s, and t + t²/2 = k.
		{"ramp up", Pace{Arrival: Constant, Rate: 1, RateTo: 3}, 5, "[0 732051 1236068 1645751 2000000]"},
		// Its mirror image: the gaps in reverse.
		{"ramp down", Pace{Arrival: Constant, Rate: 3, RateTo: 1}, 5, "[0 354249 763932 1267949 2000000]"},
		// Over 1 s the rate rises from 1 to 3, 2 arrive, and then 3 per second.
		{"ramp over a duration", Pace{Arrival: Constant, Rate: 1, RateTo: 3, Duration: time.Second}, 5, "[0 618034 1000000 1333333 1666667]"},
		{"poisson", Pace{Arrival: Poisson, Rate: 10, Seed: 7}, 5, goldenPoisson},
		{"gamma", Pace{Arrival: Gamma, Rate: 10, Burstiness: 0.5, Seed: 7}, 5, goldenGamma},
		{"one", Pace{Arrival: Constant, Rate: 1, RateTo: 2}, 1, "[0]"},
		{"none", Pace{Arrival: Poisson, Rate: 1}, 0, "[]"},
	}
	for _, tt := range tests {
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

// As first drawn: if they change, arrivals differ, and earlier measurements cannot be
// compared with later ones.
const (
	goldenPoisson = "[0 120700 254952 431837 479456]"
	goldenGamma   = "[0 18873 114583 413634 628361]"
)

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

// Closed forms of the distribution of a gap of mean 1 and gamma shape k.
var gapShapes = map[float64]func(float64) float64{
	0.5: func(x float64) float64 { return math.Erf(math.Sqrt(x / 2)) },
	1:   func(x float64) float64 { return 1 - math.Exp(-x) },
	2:   func(x float64) float64 { return 1 - math.Exp(-2*x)*(1+2*x) },
	3:   func(x float64) float64 { return 1 - math.Exp(-3*x)*(1+3*x+4.5*x*x) },
}

// The seeds are fixed, so the distances are too; 1.63/√n is the 1% limit.
func TestArrivalsFollowTheirDistribution(t *testing.T) {
	const n = 20000
	limit := 1.63 / math.Sqrt(n)
	check := func(name string, gaps []float64, shape float64) {
		t.Helper()
		mean, cv, skew := moments(gaps)
		if math.Abs(mean-1) > 0.03 || math.Abs(cv*math.Sqrt(shape)-1) > 0.03 || math.Abs(skew*math.Sqrt(shape)/2-1) > 0.15 {
			t.Errorf("%s: mean %.3f, cv %.3f, skewness %.3f", name, mean, cv, skew)
		}
		if d := kolmogorov(gaps, gapShapes[shape]); d > limit {
			t.Errorf("%s: distance %.4f from its distribution, limit %.4f", name, d, limit)
		}
		for other, cdf := range gapShapes {
			if other != shape && kolmogorov(gaps, cdf) < 3*limit {
				t.Errorf("%s cannot be told from shape %v", name, other)
			}
		}
	}
	for seed := range int64(3) {
		check("poisson", gapsOf(t, Pace{Arrival: Poisson, Rate: 3, Seed: seed}, n), 1)
		for shape := range gapShapes {
			p := Pace{Arrival: Gamma, Rate: 3, Burstiness: shape, Seed: seed}
			check(fmt.Sprintf("gamma %v", shape), gapsOf(t, p, n), shape)
		}
	}
	for _, shape := range []float64{0.05, 50} {
		mean, cv, _ := moments(gapsOf(t, Pace{Arrival: Gamma, Rate: 3, Burstiness: shape, Seed: 1}, 100_000))
		if math.Abs(mean-1) > 0.05 || math.Abs(cv*math.Sqrt(shape)-1) > 0.05 {
			t.Errorf("gamma %v: mean %.3f, cv %.3f, want 1 and %.3f", shape, mean, cv, 1/math.Sqrt(shape))
		}
	}
}

// Relative to the expected number of arrivals, a ramp is the process that it was.
func TestRampKeepsTheProcess(t *testing.T) {
	const n = 20000
	for _, p := range []Pace{
		{Arrival: Poisson, Rate: 1, RateTo: 9, Seed: 2},
		{Arrival: Poisson, Rate: 9, RateTo: 1, Seed: 3},
		{Arrival: Gamma, Burstiness: 2, Rate: 2, RateTo: 20, Seed: 4},
		{Arrival: Gamma, Burstiness: 0.5, Rate: 20, RateTo: 2, Seed: 5, Duration: 20 * time.Minute},
	} {
		at, err := p.arrivals(n + 1)
		if err != nil {
			t.Fatal(err)
		}
		over := p.Duration.Seconds()
		if over == 0 {
			over = 2 * n / (p.Rate + p.RateTo)
		}
		passed := func(at time.Duration) float64 {
			s := at.Seconds()
			in := min(s, over)
			return p.Rate*in + (p.RateTo-p.Rate)*in*in/(2*over) + p.RateTo*(s-in)
		}
		gaps := make([]float64, n)
		for i := range gaps {
			gaps[i] = passed(at[i+1]) - passed(at[i])
		}
		shape := 1.0
		if p.Arrival == Gamma {
			shape = p.Burstiness
		}
		if d := kolmogorov(gaps, gapShapes[shape]); d > 1.63/math.Sqrt(n) {
			t.Errorf("%+v: distance %.4f", p, d)
		}
		// The rates at the beginning and around the ramp's middle.
		in := func(from, to float64) float64 {
			n := 0
			for _, a := range at {
				if s := a.Seconds(); s >= from && s < to {
					n++
				}
			}
			return float64(n) / (to - from)
		}
		early, middle := in(0, over/20), in(over*0.45, over*0.55)
		wantEarly := p.Rate + (p.RateTo-p.Rate)/40
		if math.Abs(early/wantEarly-1) > 0.25 || math.Abs(middle/((p.Rate+p.RateTo)/2)-1) > 0.1 {
			t.Errorf("%+v: %.2f a second at first and %.2f in the middle", p, early, middle)
		}
	}
}

func TestArrivalsAreTheSameForAllArms(t *testing.T) {
	p := Pace{Arrival: Gamma, Rate: 5, RateTo: 8, Burstiness: 0.7, Seed: 3}
	a, _ := p.arrivals(100)
	b, _ := p.arrivals(100)
	if !slices.Equal(a, b) || !slices.IsSorted(a) {
		t.Error("the same pace gave other arrivals, or none in order")
	}
	p.Seed = 4
	if c, _ := p.arrivals(100); slices.Equal(a, c) {
		t.Error("another seed gave the same arrivals")
	}
	// Without a ramp over the requests, an arrival depends on no later one.
	p.RateTo = 0
	long, _ := p.arrivals(100)
	if short, _ := p.arrivals(10); !slices.Equal(short, long[:10]) {
		t.Error("arrivals depend on how many there are")
	}
}

func TestPaceRefuses(t *testing.T) {
	nan := math.NaN()
	for want, p := range map[string]Pace{
		"negative":        {Concurrency: -1},
		"needs an":        {Rate: 3},
		"unknown":         {Arrival: "uniform", Rate: 1},
		"rate of 0":       {Arrival: Poisson},
		"rate of NaN":     {Arrival: Poisson, Rate: nan},
		"rate of +Inf":    {Arrival: Constant, Rate: math.Inf(1)},
		"rate_to of NaN":  {Arrival: Constant, Rate: 1, RateTo: nan},
		"rate_to of -1":   {Arrival: Constant, Rate: 1, RateTo: -1},
		"burstiness of":   {Arrival: Gamma, Rate: 1},
		"burstiness of N": {Arrival: Gamma, Rate: 1, Burstiness: nan},
		"due after more":  {Arrival: Constant, Rate: 1e-300},
		"not drawn":       {Arrival: Trace},
	} {
		if _, err := p.arrivals(2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", p, err, want)
		}
	}
}
