package prompt

import (
	"math"
	"testing"
)

// The lengths drawn must have the requested moments, of the length itself.
func TestLengthsFollowTheirDistribution(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		lengths   Lengths
		mean, std float64
	}{
		"uniform":   {Lengths{Distribution: Uniform, Min: 101, Max: 300}, 200.5, math.Sqrt((200*200 - 1) / 12.0)},
		"one":       {Lengths{Distribution: Uniform, Min: 7, Max: 7}, 7, 0},
		"normal":    {Lengths{Distribution: Normal, Min: 1, Max: 9000, Mean: 1000, Std: 100}, 1000, 100},
		"constant":  {Lengths{Distribution: Normal, Min: 1, Max: 90, Mean: 12}, 12, 0},
		"lognormal": {Lengths{Distribution: Lognormal, Min: 1, Max: 9000, Mean: 1000, Std: 300}, 1000, 300},
	} {
		sum, squares := 0.0, 0.0
		for i := range n {
			x := float64(c.lengths.at(1, "prompt", "measured", i, 0))
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		std := math.Sqrt(max(0, squares/n-mean*mean))
		// Six standard errors; that of the deviation is wider for a long tail.
		if math.Abs(mean-c.mean) > 6*c.std/math.Sqrt(n) || math.Abs(std-c.std) > 0.06*c.std {
			t.Errorf("%s: mean %.1f and deviation %.1f, want %.1f and %.1f", name, mean, std, c.mean, c.std)
		}
	}
}

func TestLengthsKeepTheirBounds(t *testing.T) {
	l := Lengths{Distribution: Lognormal, Min: 50, Max: 60, Mean: 100, Std: 200}
	seen := map[int]bool{}
	for i := range 1000 {
		seen[l.at(1, "prompt", "measured", i, 0)] = true
		if n := (Lengths{Distribution: Normal, Min: 1, Max: 9000, Mean: 1, Std: 1000}).at(1, "output", "measured", i, 0); n < 1 {
			t.Fatalf("%d tokens", n)
		}
	}
	for n := range seen {
		if n < 50 || n > 60 {
			t.Errorf("%d is outside 50 to 60", n)
		}
	}
	if !seen[50] || !seen[60] {
		t.Error("what falls outside is not moved to the ends")
	}
	if a, b := l.at(1, "prompt", "measured", 3, 0), l.at(1, "prompt", "measured", 3, 0); a != b {
		t.Error("drawn twice, it differs")
	}
}
