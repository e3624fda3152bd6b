package steps

import (
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// TestWantedByAGate: a gate keeps the launches of one feature coming while it may
// still pass, and not once what it reads of another was retracted.
func TestWantedByAGate(t *testing.T) {
	l := labOf(t, sessionPlan+`
phase "two" {
  after_decided = [phase.one]
  gate {
    rule "both" { expr = "feature.x.w.tg.gain >= 0.10 and feature.y.w.tg.gain >= 0.10" }
  }
}
`)
	y := l.Plan.Feature("y")
	y.Accept, y.Criteria = nil, nil // its own criterion asks for nothing more
	outcomes := map[string]*ledger.Decision{
		runtime.QualifyID("x"):   {Verdict: verdict.Pass},
		runtime.BenchmarkID("x"): {Verdict: verdict.Pass, Session: "s-0"},
		runtime.FeatureID("x"):   {Node: runtime.FeatureID("x"), Verdict: verdict.Pass, Accepted: true},
	}
	m := &member{feature: y, arms: arms{candidate: &variant.Variant{}}}
	ev := &gates.Feature{}
	for i, speed := range []float64{100, 108, 95} {
		tg := measure.Summary{Unit: "tok/s", Better: measure.Higher, N: 10, Requests: 10, Stats: map[string]float64{"median": speed}}
		for _, arm := range []*gates.Arm{&ev.Candidate, &ev.Parent} {
			arm.Launches = append(arm.Launches, gates.Launch{ID: "l", Round: i + 1, Metrics: map[string]measure.Summary{"w.tg": tg}})
		}
	}
	for _, c := range []struct {
		retraction *ledger.Retraction
		want       bool
	}{
		{nil, true},
		{&ledger.Retraction{Node: runtime.FeatureID("x"), Reason: "the prompts were cached", By: "kim"}, false},
	} {
		outcomes[runtime.FeatureID("x")].Retraction = c.retraction
		got, err := l.wanted(scopeOf(outcomes, nil), m, ev)
		if err != nil || got != c.want {
			t.Errorf("retraction %+v: wanted %v, %v, want %v", c.retraction, got, err, c.want)
		}
	}
}
