package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What the promise does not cover either: a change that makes the candidate's starts
// bimodal while the base's are quiet, under a rule exactly at the candidate's mean. It
// passes if all launches of the first look are fast ones, which no test can distinguish
// from an engine that is always fast. The page says how often.
func TestRatesWithBimodalCandidate(t *testing.T) {
	s := scenario{
		ratio: 1,
		noise: func(rng *rand.Rand) float64 { return 0.003 * rng.NormFloat64() },
		own:   func(rng *rand.Rand) float64 { return bimodal(rng) - math.Log(1.08)/2 },
	}
	recorded := s
	recorded.floor = 0.003
	for _, c := range []struct {
		name     string
		s        scenario
		min      int
		recorded bool
		rate     float64
	}{
		{"first look at 4", s, 4, false, math.Pow(0.5, 4)},
		{"first look at 3, with 0.3% of noise on record", recorded, 3, true, math.Pow(0.5, 3)},
		{"min = 6", s, 6, false, math.Pow(0.5, 6)},
		{"min = 8", s, 8, false, math.Pow(0.5, 8)},
	} {
		r := simulate(t, c.s, mustOffer(t, c.min, 8, c.recorded), times(), 1)
		t.Logf("bimodal in the candidate only, %s: %v", c.name, r)
		if r.pass > within(c.rate, times()) {
			t.Errorf("bimodal in the candidate only, %s: %v, want at most the chance that all are fast, %.4f", c.name, r, c.rate)
		}
	}
}
