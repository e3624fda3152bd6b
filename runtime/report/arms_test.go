package report

import (
	"math"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestOf: ± is of logs where the mean is, so one launch far off does not dwarf the mean,
// and the interval of a share stays within what a share can be.
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		unit       string
		values     []float64
		mean, std  float64
		low, above float64 // the lower bound, and what the upper one is not above
	}{
		"one far off":         {"tok/s", []float64{1, 1, 1, 16}, 2, 2 * math.Log(16) / 2, 0.2, 100},
		"a share":             {"share", []float64{0.5, 0.98}, 0.7, 0.333, 0, 1},
		"a share with a zero": {"share", []float64{0, 0.1}, 0.05, 0.0707, 0, 1},
		"above a limit":       {"share", []float64{0.9, 1.3}, 1.0817, 0.2813, 0, 1.3},
	} {
		a := &Arm{}
		for _, v := range c.values {
			a.Launches = append(a.Launches, &ledger.Launch{Metrics: map[string]measure.Summary{"chat.x": {Unit: c.unit, Stats: map[string]float64{"median": v}}}})
		}
		v, ok := a.Of("chat.x", "median")
		if !ok || math.Abs(v.Mean-c.mean) > 1e-3 || math.Abs(v.Std-c.std) > 1e-3 {
			t.Errorf("%s: %v ± %v, want %v ± %v", name, v.Mean, v.Std, c.mean, c.std)
		}
		if v.Low == nil || *v.Low < c.low || *v.High > c.above || !(*v.Low <= v.Mean && v.Mean <= *v.High) {
			t.Errorf("%s: the interval %v is not within %v and %v", name, v, c.low, c.above)
		}
	}
}
