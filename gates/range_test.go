package gates

import (
	"math"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// TestWholeRanges: memory needs three launches, and a range around the limit stays
// undecided however many there are.
func TestWholeRanges(t *testing.T) {
	for _, c := range []struct {
		rule      string
		own, base []float64
		want      verdict.Verdict
		open      bool
		says      string
	}{
		{"engine.memory_gb.delta <= 2", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "pass", false, "at most 1.5 GB of any two launches, 3 launches an arm"},
		{"engine.memory_gb.delta <= 1.5", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "pass", false, ""},
		{"engine.memory_gb.delta < 1.5", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "inconclusive", false, "between 0.8 GB and 1.5 GB of any two launches, 3 launches an arm, so that the limit lies within"},
		{"engine.memory_gb.delta <= 0.5", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "fail", false, "at least 0.8 GB even at best, 3 launches an arm"},
		{"engine.memory_gb.delta <= 2", []float64{10, 10.5}, []float64{9, 9.1}, "inconclusive", true, "2 launches an arm of at least 3"},
		{"engine.memory_gb.delta <= 2", []float64{10}, []float64{9}, "inconclusive", true, "1 launch an arm says nothing"},
		{"engine.memory_gb.delta <= 2", []float64{10, 14}, []float64{9, 9.1}, "inconclusive", false, "2 launches an arm, so that the limit lies within"},
		{"engine.memory_gb.delta <= 0.5", []float64{10, 10.5, 10.2}, []float64{9, 9.1}, "inconclusive", true, ""},
		{"engine.memory_gb.change <= 0.2", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "pass", false, "at most +16.7 % of any two launches"},
		{"engine.memory_gb.gain >= -0.2", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "pass", false, "at least -16.7 % of any two launches"},
		{"engine.memory_gb.gain >= 0", []float64{10, 10.5, 10.2}, []float64{9, 9.1, 9.2}, "fail", false, "at most -8.7 % even at best"},
		{"engine.memory_gb.delta <= 0.1", []float64{1.1, 1.1, 1.1}, []float64{1, 1, 1}, "pass", false, "at most 0.1 GB of any two launches"},
		{"engine.memory_gb.delta < 0.1", []float64{1.1, 1.1, 1.1}, []float64{1, 1, 1}, "fail", false, "at least 0.1 GB even at best"},
		{"engine.memory_gb <= 1.05 * engine.memory_gb.base", []float64{21, 21, 21}, []float64{20, 20, 20}, "pass", false, "at most +5.0 % of any two launches"},
		{"engine.memory_gb <= 10.5", []float64{10, 10.5, 10.2}, []float64{9}, "pass", false, "at most 10.5 GB of launches, 3 launches"},
		{"engine.memory_gb <= 9", []float64{10, 10.5, 10.2}, []float64{9}, "fail", false, "at least 10 GB even at best"},
	} {
		ev := with(func(f *Feature) {
			f.Candidate, f.Parent = medians("f", c.own...), medians("baseline", c.base...)
			for i, v := range c.own {
				f.Candidate.Launches[i].Metrics["engine.memory_gb"] = launchSummary(v, "GB")
			}
			for i, v := range c.base {
				f.Parent.Launches[i].Metrics["engine.memory_gb"] = launchSummary(v, "GB")
			}
		})
		got := decided(compiled(t, c.rule), ev)
		if got.Verdict != c.want || !strings.Contains(tell.Line(got.Reasons[0]), c.says) || (len(got.Open) > 0) != c.open {
			t.Errorf("%s: %s, open %v: %s", c.rule, got.Verdict, got.Open, tell.Line(got.Reasons[0]))
		}
	}
}

// TestDriftUndecides numbers of one arm only.
func TestDriftUndecides(t *testing.T) {
	drifting := func(drifts ...float64) *Evidence {
		return with(func(f *Feature) {
			for i, d := range drifts {
				set(&f.Candidate, i, "chat.tg", "drift", d)
			}
		})
	}
	strong := []float64{0.02, 0.021, 0.019, 0.022}
	for _, c := range []struct {
		rule string
		ev   *Evidence
		want verdict.Verdict
	}{
		{"chat.tg >= 38", drifting(strong...), "inconclusive"},
		{"chat.tg <= 30", drifting(strong...), "inconclusive"},
		{"chat.tg.base >= 30", drifting(strong...), "pass"},
		{"chat.tg.gain >= 0.1", drifting(strong...), "pass"},
		{"chat.tg >= 38", drifting(0.02, -0.03, 0.04, 0.01), "pass"},
		{"chat.tg >= 38", drifting(0.004, 0.0041, 0.0039, 0.004), "pass"},
		{"chat.tg >= 38", drifting(0.02, 0.021, 0.019, math.NaN()), "inconclusive"},
		{"chat.tg >= 38", full(), "pass"},
	} {
		got := decided(compiled(t, c.rule), c.ev)
		if got.Verdict != c.want || len(got.Open) > 0 {
			t.Errorf("%s: %s, open %v: %q", c.rule, got.Verdict, got.Open, tell.Lines(got.Reasons))
		}
		if test := got.Comparisons[0].Test; (!test.Note.IsZero()) != (c.want == "inconclusive") || c.want == "inconclusive" && !strings.Contains(tell.Line(got.Reasons[0]), "drift") {
			t.Errorf("%s: %q, %q", c.rule, tell.Line(test.Note), tell.Lines(got.Reasons))
		}
	}
}

// TestRangesOfFewLaunches: where no more than two launches are made, memory is
// never decided, and no more are asked for.
func TestRangesOfFewLaunches(t *testing.T) {
	s := usual
	s.Max = 2
	ev := with(func(f *Feature) {
		f.Candidate.Launches, f.Parent.Launches = f.Candidate.Launches[:2], f.Parent.Launches[:2]
	})
	got := Decide([]*plans.Rule{compiled(t, "engine.memory_gb.delta <= 2")}, ev, s)[0]
	if got.Verdict != verdict.Inconclusive || len(got.Open) > 0 || !strings.HasSuffix(tell.Line(got.Reasons[0]), "2 launches an arm cannot tell, since a verdict takes 3") {
		t.Errorf("%s, open %v: %q", got.Verdict, got.Open, tell.Lines(got.Reasons))
	}
}
