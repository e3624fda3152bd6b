package main

import (
	"os"
	"path/filepath"
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
			path := filepath.Join(t.TempDir(), "changed.hcl")
			if err := os.WriteFile(path, []byte(tt.plan), 0o644); err != nil {
				t.Fatal(err)
			}
			exit, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path)
			if exit != tt.exit {
				t.Errorf("exit status %d, want %d", exit, tt.exit)
			}
			for _, want := range tt.want {
				if !strings.Contains(evenly(out+errs), evenly(want)) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(out + errs)
			}
		})
	}
}
