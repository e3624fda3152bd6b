package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// Two arms with equal means, of which the candidate alone has two speeds that each start
// draws anew: its first launches often agree by chance and look quiet. Without Question.Gap
// such a claim passes as often as all launches of the first look are fast.
func TestRatesWithModes(t *testing.T) {
	quiet := func(rng *rand.Rand) float64 { return 0.003 * rng.NormFloat64() }
	// modes draws starts of which a share is fast, with a mean of 0.
	modes := func(apart, fast float64) func(*rand.Rand) float64 {
		return func(rng *rand.Rand) float64 {
			x := quiet(rng) - fast*math.Log1p(apart)
			if rng.Float64() < fast {
				x += math.Log1p(apart)
			}
			return x
		}
	}
	gaps, shares := []float64{0.08}, []float64{0.3, 0.5}
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		gaps, shares = []float64{0.04, 0.08, 0.1, 0.12, 0.2}, []float64{0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9}
	}
	for _, c := range []struct {
		name     string
		first    int
		recorded bool
		floor    float64
	}{{"first look at 4", 4, false, 0}, {"first look at 3, 0.3% of noise on record", 3, true, 0.003}} {
		d := mustOffer(t, c.first, 8, c.recorded)
		for _, apart := range gaps {
			for _, fast := range shares {
				one := scenario{ratio: 1, noise: quiet, own: modes(apart, fast), floor: c.floor}
				before := simulate(t, one, d, times(), 1)
				one.modes = UsualGap
				r := simulate(t, one, d, times(), 1)
				both := simulate(t, scenario{ratio: 1, noise: modes(apart, fast), floor: c.floor, modes: UsualGap}, d, times(), 1)
				t.Logf("%s, %.0f%% apart, %.0f%% fast: %v; without the margin pass %.4f fail %.4f; both arms pass %.4f fail %.4f",
					c.name, 100*apart, 100*fast, r, before.pass, before.fail, both.pass, both.fail)
				if fast == 0.5 && apart == 0.08 && before.pass < 0.05 {
					t.Errorf("without the margin only %.4f pass: there is no reason for it", before.pass)
				}
				if apart > math.Expm1(UsualGap)+1e-9 {
					continue
				}
				// Of the slower speed, at least every second start has to be: a rarer one is missed
				// by all launches that a plan makes. And the reverse for false fails.
				if fast <= 0.5 && r.pass > within(0.01, times()) || fast >= 0.5 && r.fail > within(0.05, times()) {
					t.Errorf("%s, %.0f%% apart, %.0f%% fast: %v", c.name, 100*apart, 100*fast, r)
				}
				if c.floor == 0 && (both.pass > within(0.01, times()) || both.fail > within(0.05, times())) {
					t.Errorf("%s, %.0f%% apart, %.0f%% fast, both arms: %v", c.name, 100*apart, 100*fast, both)
				}
			}
		}
	}
}

// What is clear is decided as early as without the margin.
func TestClearCasesAreDecidedAsEarly(t *testing.T) {
	d := mustOffer(t, 4, 8, false)
	for _, effect := range []float64{-0.3, -0.1, 0.1, 0.3} {
		s := scenario{gap: math.Log1p(effect), ratio: 1, noise: func(rng *rand.Rand) float64 { return 0.003 * rng.NormFloat64() }}
		before := simulate(t, s, d, times(), 1)
		s.modes = UsualGap
		if r := simulate(t, s, d, times(), 1); r != before {
			t.Errorf("an effect of %+.0f%%: %v, and %v without the margin", 100*effect, r, before)
		}
	}
}

func TestMargin(t *testing.T) {
	for _, c := range []struct {
		n          int
		rate, want float64
	}{
		{2, 0.01, 0.9},
		{3, 0.01, 0.7846},
		{4, 0.01, 0.6838},
		{6, 0.01, 0.5358},
		{7, 0.01, 0},
		{8, 0.01, 0},
		{12, 0.01, 0},
		{8, 0.001, 0.5783},
		{10, 0.001, 0},
		{4, 0.05, 0.5271},
		{6, 0.05, 0},
	} {
		near(t, "margin", Error{Rate: c.rate}.Margin(c.n, 1), c.want, 1e-4)
	}
	if m := (Error{Rate: 0.01}).Margin(4, 0); m != 0 {
		t.Error("one speed has a margin:", m)
	}
}
