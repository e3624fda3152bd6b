package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// counted is evidence whose launches crashed this often.
func counted(own, base []float64) *Evidence {
	return with(func(f *Feature) {
		for _, a := range []struct {
			arm    *Arm
			counts []float64
		}{{&f.Candidate, own}, {&f.Parent, base}} {
			speeds := make([]float64, len(a.counts))
			for i := range speeds {
				speeds[i] = 30 + 0.1*float64(i%3)
			}
			*a.arm = medians(a.arm.Name, speeds...)
			for i, n := range a.counts {
				set(a.arm, i, "engine.crashes", "median", n)
				set(a.arm, i, "chat.output_tokens", "median", 100+10*n)
			}
		}
	})
}

// TestCountsHoldInEveryLaunch: counts must hold in every launch, whatever their mean, and
// name the launch in which they do not.
func TestCountsHoldInEveryLaunch(t *testing.T) {
	none := []float64{0, 0, 0, 0}
	for _, c := range []struct {
		rule      string
		own, base []float64
		want      verdict.Verdict
		says      string
	}{
		{"engine.crashes < 1", []float64{0, 0, 1, 0}, none, "fail", "engine.crashes 1 in launch 3 of 4 (required < 1 in every launch, 1 of 5 starts crashed)"},
		{"1 > engine.crashes", []float64{0, 0, 1, 0}, none, "fail", "engine.crashes 1 in launch 3 of 4 (required < 1 in every launch, 1 of 5 starts crashed)"},
		{"not (engine.crashes >= 1)", []float64{0, 0, 1, 0}, none, "fail", "engine.crashes 1 in launch 3 of 4 (required < 1 in every launch, 1 of 5 starts crashed)"},
		{"engine.crashes < 1", none, none, "pass", "engine.crashes 0 (required < 1, 4 launches, crash rate below 53% with 95% confidence)"},
		{"engine.crashes <= 2", []float64{0, 2, 1, 0}, none, "pass", "engine.crashes 0 to 2 (required ≤ 2 in every launch, 4 launches, crash rate below 77% with 95% confidence)"},
		{"engine.crashes <= 2", []float64{5, 3, 9, 0}, none, "fail", "engine.crashes 9 in launch 3 of 4 (required ≤ 2 in every launch, 17 of 21 starts crashed)"},
		{"engine.crashes >= 2", []float64{2, 1, 0, 9}, none, "fail", "engine.crashes 0 in launch 3 of 4 (required ≥ 2 in every launch, 12 of 16 starts crashed)"},
		{"engine.crashes == 1", []float64{1, 1, 1, 2}, none, "fail", "engine.crashes 2 in launch 4 of 4 (required 1 in every launch, 5 of 9 starts crashed)"},
		{"engine.crashes == 1", []float64{0, 2}, none, "fail", "0 in launch 1 of 2 (required 1 in every launch"},
		{"engine.crashes in [0, 2]", []float64{0, 2, 0}, none, "pass", "0 to 2 (required one of 0, 2 in every launch"},
		{"engine.crashes not in [1]", []float64{0, 2, 1}, none, "fail", "1 in launch 3 of 3 (required none of 1 in every launch"},
		{"not (engine.crashes in [1])", []float64{0, 2}, none, "pass", "0 to 2 (required none of 1 in every launch"},
		{"engine.crashes.base == 0", none, []float64{0, 1, 0, 0}, "fail", "engine.crashes.base 1 in launch 2 of 4 (required 0 in every launch"},
		{"chat.output_tokens <= 105", []float64{0, 0, 1, 0}, none, "fail", "chat.output_tokens 110 tokens in launch 3 of 4 (required ≤ 105 tokens in every launch"},

		{"engine.crashes.delta <= 0", none, []float64{0, 1, 0, 0}, "pass", "engine.crashes.delta -1 to 0 (required ≤ 0 for every pair of launches, 4 against 4 launches"},
		{"engine.crashes.delta <= 0", []float64{2, 3, 2, 2}, []float64{0, 1, 0, 0}, "fail", "engine.crashes.delta 1 to 3 (required ≤ 0 for every pair of launches"},
		{"engine.crashes.delta <= 0", []float64{0, 1, 0, 0}, none, "inconclusive", "engine.crashes.delta 0 to 1 (required ≤ 0 for every pair of launches, 4 against 4 launches, undecided: true for some launches, false for others)"},
		{"engine.crashes <= engine.crashes.base", []float64{0, 1, 0, 0}, []float64{1, 1, 2, 1}, "pass", "engine.crashes 0 to 1 (required ≤ engine.crashes.base = 1 to 2 for every pair of launches"},
		{"engine.crashes <= engine.crashes.base", []float64{0, 1, 0, 0}, []float64{0, 1, 2, 1}, "inconclusive", "undecided: true for some launches"},
		{"engine.crashes <= 1 * engine.crashes.base", []float64{2, 3}, []float64{0, 1}, "fail", "for every pair of launches"},
		{"chat.output_tokens.change <= 0.1", []float64{1, 1, 0, 0}, none, "pass", "chat.output_tokens.change +0.0% to +10.0%"},
		{"chat.output_tokens.change > 0.1", []float64{2, 2, 2, 1}, none, "inconclusive", "+10.0% to +20.0% (required > +10% for every pair of launches"},
		{"chat.output_tokens <= 1.1 * chat.output_tokens.base", []float64{0, 0, 1}, []float64{0, 0, 1}, "pass", "chat.output_tokens 100 to 110 tokens (required ≤ 1.1 * chat.output_tokens.base = 110 to 121 tokens for every pair of launches"},
		{"2 * chat.output_tokens.delta <= 19", []float64{0, 0, 1}, []float64{0, 0, 1}, "inconclusive", "-20 to 20 tokens (required ≤ 19 tokens for every pair of launches"},
	} {
		got := decided(compiled(t, c.rule), counted(c.own, c.base))
		if got.Verdict != c.want || !strings.Contains(got.Reasons[0].String(), c.says) {
			t.Errorf("%s of %v against %v is %s: %q, wanted %s: %s", c.rule, c.own, c.base, got.Verdict, verdict.Lines(got.Reasons), c.want, c.says)
		}
		if len(got.Open) > 0 {
			t.Errorf("%s of %v waits for launches that change nothing", c.rule, c.own)
		}
		negated := strings.Contains(c.rule, "not ")
		if holds := got.Comparisons[0].Holds != negated; got.Verdict != verdict.Inconclusive && holds != (got.Verdict == verdict.Pass) {
			t.Errorf("%s is %s, and holds %v", c.rule, got.Verdict, holds)
		}
	}
}

// TestCountsFailForGood: one violation is final, whatever launches follow, but one launch
// alone decides neither way.
func TestCountsFailForGood(t *testing.T) {
	rule := compiled(t, "engine.crashes < 1")
	counts := []float64{1}
	for n := 1; n <= 8; n++ {
		want := verdict.Fail
		if n < fewLaunches {
			want = verdict.Inconclusive
		}
		got := decided(rule, counted(counts, make([]float64, n)))
		if got.Verdict != want || (len(got.Open) > 0) != (want == verdict.Inconclusive) {
			t.Errorf("%d launches: %s, open %v: %q", n, got.Verdict, got.Open, verdict.Lines(got.Reasons))
		}
		counts = append(counts, 0)
	}
}
