package steps

import (
	"math"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Noise is pooled within the launches of one variant in one session, of those
// before the session in question that count and sent the same work.
func TestNoise(t *testing.T) {
	launch := func(session, variant, work string, tg float64) *ledger.Launch {
		return &ledger.Launch{Session: session, VariantKey: variant, Work: work, Purpose: "benchmark", OK: true, Metrics: map[string]measure.Summary{
			"w.tg": {Stats: map[string]float64{"median": tg, "p90": 2 * tg * tg}},
		}}
	}
	// Two groups whose logs lie 0.02 and 0.04 apart: variances 0.0002 and 0.0008,
	// one degree of freedom each.
	all := []*ledger.Launch{
		launch("s1", "a", "k", 100), launch("s1", "b", "k", 50),
		launch("s1", "a", "k", 100*math.Exp(0.02)), launch("s1", "b", "k", 50*math.Exp(0.04)),
		launch("s1", "a", "other", 1), launch("s2", "a", "k", 70), launch("s2", "a", "k", 7000),
	}
	broken := launch("s1", "a", "k", 1)
	broken.OK = false
	disturbed := launch("s1", "a", "k", 1)
	disturbed.Invalid = []string{"throttled"}
	all = append([]*ledger.Launch{broken, disturbed}, all...)
	before := NoiseBefore(all, "s2", "k")
	if len(before) != 4 {
		t.Fatalf("%d launches before", len(before))
	}
	got := Noise(before, []string{"w.tg", "w.tg.p90", "w.ttft"})
	if n := got["w.tg"]; math.Abs(n.SD-math.Sqrt(0.0005)) > 1e-12 || n.DF != 2 {
		t.Errorf("w.tg: %+v", n)
	}
	if n := got["w.tg.p90"]; math.Abs(n.SD-2*math.Sqrt(0.0005)) > 1e-12 {
		t.Errorf("w.tg.p90: %+v", n)
	}
	if _, known := got["w.ttft"]; known {
		t.Error("noise of what was never measured")
	}
	if n := len(NoiseBefore(all, "", "k")); n != 6 {
		t.Errorf("%d launches before a session that has not begun", n)
	}
	if n := len(NoiseBefore(all, "s2", "")); n != 0 {
		t.Errorf("%d launches of no work", n)
	}
}
