package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDivide(t *testing.T) {
	noise := func(levels ...float64) (values []float64) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, l := range levels {
			values = append(values, l*(1+0.01*r.NormFloat64()))
		}
		return values
	}
	of := func(n int, level float64) (out []float64) {
		for range n {
			out = append(out, level)
		}
		return out
	}
	join := func(parts ...[]float64) (out []float64) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for name, c := range map[string]struct {
		values []float64
		want   []int
	}{
		"steady":                 {noise(of(40, 30)...), nil},
		"a step":                 {noise(join(of(20, 30), of(20, 27))...), []int{20}},
		"up and back again":      {noise(join(of(15, 30), of(15, 33), of(15, 30))...), []int{15, 30}},
		"two steps down":         {noise(join(of(12, 30), of(12, 28.5), of(12, 27))...), []int{12, 24}},
		"one outlier":            {noise(join(of(20, 30), of(1, 60), of(20, 30))...), nil},
		"constant":               {of(20, 5), nil},
		"too few to say":         {noise(join(of(3, 30), of(3, 27))...), nil},
		"the last two":           {noise(join(of(30, 30), of(2, 20))...), []int{30}},
		"one value":              {of(1, 3), nil},
		"a constant and another": {join(of(10, 5), of(10, 6)), []int{10}},
	} {
		found, err := Divide(c.values)
		var got []int
		for _, f := range found {
			got = append(got, f.At)
			if !(f.P > 0 && f.P <= divisiveLevel) {
				t.Errorf("%s: p %v", name, f.P)
			}
		}
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
			continue
		}
		for i := range got {
			if math.Abs(float64(got[i]-c.want[i])) > 1 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
	for name, values := range map[string][]float64{"nothing": nil, "NaN": {1, 2, math.NaN(), 4}, "infinite": {1, math.Inf(1)}, "too many": make([]float64, MostDivided+1)} {
		if found, err := Divide(values); err == nil {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestDivideFinds changes, in series without one, as often as its level says.
func TestDivideFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const series = 200
	found := 0
	for range series {
		values := make([]float64, 20)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64())
		}
		if all, _ := Divide(values); len(all) > 0 {
			found++
		}
	}
	// 5% of 200, plus four standard errors of that.
	if found > 22 {
		t.Errorf("%d of %d series without a change have one", found, series)
	}
}

// energy is the divergence of both sides as published, pair by pair.
func energy(x []float64, tau, end int) float64 {
	mean := func(a, b []float64, less int) float64 {
		sum := 0.0
		for _, u := range a {
			for _, v := range b {
				sum += math.Abs(u - v)
			}
		}
		return sum / float64(len(a)*(len(b)-less))
	}
	a, b := x[:tau], x[tau:end]
	m, k := float64(len(a)), float64(len(b))
	return m * k / (m + k) * (2*mean(a, b, 0) - mean(a, a, 1) - mean(b, b, 1))
}

func TestDivideIsAsPublished(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		x := make([]float64, 4+r.IntN(12))
		for i := range x {
			x[i] = r.NormFloat64()
		}
		most, at := 0.0, 0
		for tau := leastSegment; tau <= len(x)-leastSegment; tau++ {
			for end := tau + leastSegment; end <= len(x); end++ {
				if q := energy(x, tau, end); q > most {
					most, at = q, tau
				}
			}
		}
		if gotAt, got := divide(x); gotAt != at || math.Abs(got-most) > 1e-9 {
			t.Errorf("%v: %d %v, want %d %v", x, gotAt, got, at, most)
		}
	}
}

func BenchmarkDivide(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, 100)
	for i := range values {
		values[i] = r.NormFloat64() + float64(i/50)*3
	}
	for b.Loop() {
		_, _ = Divide(values)
	}
}
