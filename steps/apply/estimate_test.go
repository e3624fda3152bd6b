package apply

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestLaunchSeconds: a qualification sends little and a benchmark much, so that
// each is estimated by its own.
func TestLaunchSeconds(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	launch := func(id, key, purpose string, seconds float64) *ledger.Record {
		return &ledger.Record{Type: "launch", Time: at, Run: "20260101-aa", Launch: &ledger.Launch{
			ID: id, Session: "s", Purpose: purpose, Node: "baseline", Variant: key, VariantKey: key, Ordinal: 1, Order: 1,
			Started: at, Seconds: seconds, OK: true, Engine: map[string]string{"kind": "embedded"},
		}}
	}
	err = st.Append(
		&ledger.Record{Type: "run", Time: at, Run: "20260101-aa", RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test"}},
		launch("l1", "v1", "qualification", 1), launch("l2", "v1", "qualification", 3), launch("l3", "v1", "benchmark", 8), launch("l4", "v2", "qualification", 5))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		planned runtime.PlannedLaunch
		least   float64
		want    float64
	}{
		{runtime.PlannedLaunch{VariantKey: "v1", Engine: "embedded", Purpose: "benchmark"}, 2, 8},
		{runtime.PlannedLaunch{VariantKey: "v1", Engine: "embedded", Purpose: "qualification"}, 0, 2},
		// Of a variant that was not yet benchmarked, other benchmarks of the kind.
		{runtime.PlannedLaunch{VariantKey: "v2", Engine: "embedded", Purpose: "benchmark"}, 2, 8},
		{runtime.PlannedLaunch{VariantKey: "v9", Engine: "embedded", Purpose: "qualification"}, 0, 3},
		{runtime.PlannedLaunch{VariantKey: "v9", Engine: "vllm", Purpose: "benchmark"}, 2, 0},
		// What is only known of another purpose is a start, and sending comes on top.
		{runtime.PlannedLaunch{VariantKey: "v2", Engine: "other", Purpose: "benchmark"}, 60, 65},
	} {
		if got := launchSeconds(st, c.planned, c.least); got != c.want {
			t.Errorf("%+v: %v s, want %v", c.planned, got, c.want)
		}
	}
}

// The place of what is made again was counted with the first one.
func TestWhatIsMadeAgainIsCountedOnce(t *testing.T) {
	c := &clock{left: 3}
	c.at(runtime.Event{Type: "launch_done", Launch: 5, Launches: 16})
	c.at(runtime.Event{Type: "launch_done", Launch: 5, Launches: 16, Again: 1})
	if c.left != 2 {
		t.Errorf("%d launches left, want 2", c.left)
	}
}
