package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

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

// launches on a line, and how far they are from each other.
func distances(at ...float64) [][]float64 {
	d := make([][]float64, len(at))
	for i := range at {
		for j := range at {
			d[i] = append(d[i], math.Abs(at[i]-at[j]))
		}
	}
	return d
}

func TestRelabel(t *testing.T) {
	for name, test := range map[string]struct {
		distances [][]float64
		parents   int
		p, least  float64
	}{
		"far from two":        {distances(0, 0.1, 5), 2, 1. / 3, 1. / 3},
		"far, four and four":  {distances(0, 0.1, 0.2, 0.3, 5, 5.1, 5.2, 5.3), 4, 2. / 70, 1. / 70}, // the parent's far from the candidate's is as far
		"between the parents": {distances(0, 1, 0.5), 2, 1, 1. / 3},
		"all the same":        {distances(1, 1, 1, 1), 3, 1, 1. / 4},
	} {
		if p, least, err := Relabel(test.distances, test.parents); err != nil || math.Abs(p-test.p) > 1e-12 || math.Abs(least-test.least) > 1e-12 {
			t.Errorf("%s: %v, at least %v (%v), want %v, %v", name, p, least, err, test.p, test.least)
		}
	}
	nan, skew := distances(0, 1, 2), distances(0, 1, 2)
	nan[0][1] = math.NaN()
	skew[0][1] = 7
	for _, test := range []struct {
		distances [][]float64
		parents   int
		want      error
	}{
		{distances(0, 1), 1, ErrEmpty},
		{distances(0, 1), 2, ErrEmpty},
		{nil, 2, ErrEmpty},
		{distances(make([]float64, 21)...), 10, ErrTooMany},
		{nan, 2, ErrNotFinite},
		{skew, 2, ErrNotSquare},
		{[][]float64{{0}, {0}, {0}}, 2, ErrNotSquare},
	} {
		if p, _, err := Relabel(test.distances, test.parents); !errors.Is(err, test.want) || p != 1 {
			t.Errorf("%v of %d parents: %v, %v", test.distances, test.parents, p, err)
		}
	}
}

// Where the candidate is its parent, p is below 5% in at most 5% of sessions.
func TestRelabelRate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	low := 0
	const sessions = 2000
	for range sessions {
		at := make([]float64, 8)
		for i := range at {
			at[i] = r.NormFloat64()
		}
		if p, _, _ := Relabel(distances(at...), 4); p <= 0.05 {
			low++
		}
	}
	if low > sessions/20*14/10 {
		t.Errorf("%d of %d sessions without a difference are below 5%%", low, sessions)
	}
}
