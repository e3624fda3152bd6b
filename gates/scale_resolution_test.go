package gates

import (
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// What is counted is known to one; an average of counts, such as tokens a step, is
// known better than that.
func TestResolution(t *testing.T) {
	for _, c := range []struct {
		unit   string
		whole  bool
		values []float64
		want   float64
	}{
		{"tokens", true, []float64{24, 24, 23}, 1},
		{"tokens", true, []float64{24.5, 24.5}, 1},
		{"tokens", false, []float64{2.2, 2, 2}, 1e-3},
		{"tokens", false, []float64{3, 3}, 1e-3},
		{"count", true, []float64{0, 0}, 1},
		{"GB", false, []float64{60}, 0.01},
		{"share", false, []float64{1, 1}, 1e-3},
		{"ms", false, []float64{12}, 1e-6},
		{"tok/s", false, []float64{1}, 1e-9},
		{"tok/s", false, []float64{0.1}, 1e-9},
	} {
		if got := resolution(c.unit, c.whole, c.values); got != c.want {
			t.Errorf("%v %s: %v, want %v", c.values, c.unit, got, c.want)
		}
	}
}

// TestWholeByName: what a metric is says whether it is counted, never what it came to.
func TestWholeByName(t *testing.T) {
	for _, c := range []struct {
		in   plans.Input
		want bool
	}{
		{plans.Input{Cell: "chat", Metric: "output_tokens", Stat: "median"}, true},
		{plans.Input{Cell: "chat", Metric: "output_tokens", Stat: "mean"}, false},
		{plans.Input{Cell: "chat", Metric: "output_tokens", Stat: "std"}, false},
		{plans.Input{Cell: "chat", Metric: "accept_length", Stat: "median"}, false},
		{plans.Input{Cell: "chat", Metric: "waiting", Stat: "median"}, false},
		{plans.Input{Cell: "chat", Metric: "reached_concurrency", Stat: "median"}, true},
		{plans.Input{Metric: "crashes", Stat: "median"}, true},
		{plans.Input{Cell: "gpu", Metric: "temperature_c", Stat: "median"}, true},
		{plans.Input{Cell: commandCell, Metric: "output_tokens", Stat: "median"}, false},
		{plans.Input{Cell: "chat", Metric: "crashes", Stat: "median"}, false},
	} {
		if got := wholeByName(&c.in); got != c.want {
			t.Errorf("%s of %q, %s: %v", c.in.Metric, c.in.Cell, c.in.Stat, got)
		}
	}
}

// TestAverageThatIsWhole: drafters that give 3 tokens a step in every launch are
// alike, as those that give 3.125 are.
func TestAverageThatIsWhole(t *testing.T) {
	ev := func(own float64) *Evidence {
		return with(func(f *Feature) {
			for _, arm := range []*Arm{&f.Candidate, &f.Parent} {
				for i := range arm.Launches {
					arm.Launches[i].Metrics["chat.accept_length"] = measure.Summary{Unit: "tokens", Better: measure.Higher, N: 1, Requests: 10, Stats: map[string]float64{"median": own}}
				}
			}
		})
	}
	rule := compiled(t, "chat.accept_length.gain >= -0.1")
	for _, length := range []float64{3, 3.125} {
		if got := Decide([]*plans.Rule{rule}, ev(length), usual)[0]; got.Verdict != verdict.Pass {
			t.Errorf("%v: %s, %s", length, got.Verdict, tell.Joined(got.Reasons))
		}
	}
}
