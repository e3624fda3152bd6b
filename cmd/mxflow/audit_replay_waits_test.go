package main

import (
	"strings"
	"testing"
)

// What an apply of the changed plan would go on with, or would not come to before
// something else, is decided neither way.
func TestChangedPlanThatWaits(t *testing.T) {
	same := planWith(tenPercent, tenPercent)
	const step = "phase \"experts\" {\n  step \"exec\" \"build\" {\n    command = [\"true\"]\n  }\n"
	for _, tt := range []struct {
		name, recorded, plan string
		candidate            []float64
		exit                 int
		want                 []string
	}{
		{
			"more launches for what was inconclusive, which a gate reads", same,
			strings.Replace(planWith(tenPercent, `feature[\"routed\"].accepted`), "workloads = [workload.chat]", "workloads = [workload.chat]\n    launches = 12", 1), noisyGain, 3,
			[]string{"feature.routed inconclusive inconclusive", "what would have become of feature routed is not known"},
		},
		{
			"a step before", same, strings.Replace(same, "phase \"experts\" {", step, 1), clearGain, 3,
			[]string{"feature.routed pass locked an apply would not come to it, because phase.experts.step.exec.build would be inconclusive", "phase.experts pass inconclusive step exec build was never run"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.apply(tt.recorded, nil)
			s.session("s-1", steadyBase, tt.candidate)
			s.decide("s-1")
			s.replaysWith(t, tt.plan, tt.exit, tt.want)
		})
	}
}
