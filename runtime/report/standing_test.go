package report

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestLocked: what is locked stands in the plan's order, each under its phase, the
// features too, which do not name it.
func TestLocked(t *testing.T) {
	s := newStory(t)
	s.begin("r1")
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Fail, Reason: "finished",
		Nodes: []string{"baseline", "phase.z.step.exec.build", "feature.kv.qualify", "feature.kv", "feature.b", "phase.z", "feature.a", "phase.y"},
		Locked: map[string]string{
			"feature.a": "x", "feature.b": "x", "feature.kv": "x", "phase.y": "x", "phase.z": "x", "phase.z.step.exec.build": "x", "feature.gone": "x",
		},
	}})
	var got []string
	for _, l := range Locked(s.st) {
		got = append(got, l.Phase+":"+l.Node)
	}
	want := []string{"z:phase.z.step.exec.build", "z:feature.kv", "z:feature.b", "z:phase.z", "y:feature.a", "y:phase.y", ":feature.gone"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
