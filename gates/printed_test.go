package gates

import (
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{30, 31}, 1},
		{[]float64{30, 31.5}, 0.1},
		{[]float64{30.25, 31.5}, 0.01},
		{[]float64{1e300}, 1},
		{[]float64{0.001}, 0.001},
		{[]float64{5e-324}, 0},
		{nil, 1},
	} {
		if got := printed(c.values); got != c.want && !(c.want == 0 && got < 1e-300) {
			t.Errorf("%v: %v, want %v", c.values, got, c.want)
		}
	}
}

// TestPrintedTies: a program that prints whole numbers, the same at every start,
// has not shown a gain of 3 % where rounding alone may make one.
func TestPrintedTies(t *testing.T) {
	ev := func(base, own float64) *Evidence {
		return with(func(f *Feature) {
			for _, arm := range []*Arm{&f.Candidate, &f.Parent} {
				for i := range arm.Launches {
					v := own
					if arm == &f.Parent {
						v = base
					}
					arm.Launches[i].Metrics["command.tg"] = measure.Summary{Unit: "tok/s", Better: measure.Higher, N: 1, Requests: 1, Stats: map[string]float64{"median": v}}
				}
			}
		})
	}
	for _, c := range []struct {
		base, own float64
		want      string
	}{
		{30, 31, "inconclusive"},
		{30.001, 31.002, "pass"},
		{100, 200, "pass"},
	} {
		rule := compiled(t, "chat.tg.gain >= 0.03")
		for _, in := range rule.Program.Inputs {
			in.Cell = commandCell
		}
		got := decided(rule, ev(c.base, c.own))
		if string(got.Verdict) != c.want {
			t.Errorf("%v against %v: %+v", c.own, c.base, got.Reasons)
		}
	}
}
