package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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

// TestDecidedFirst: what was never decided is not decided again.
func TestDecidedFirst(t *testing.T) {
	n := &runtime.Node{ID: "feature.f"}
	for because, want := range map[code.Code]string{code.First: "decide", code.RulesChanged: "re-decide"} {
		if row := previewRow(runtime.Planned{Node: n, Choice: runtime.Choice{Action: runtime.Redecide, Because: verdict.New(because)}}); row[1] != want {
			t.Errorf("%s: %q, want %s", because, row[1], want)
		}
	}
}

// BenchmarkPlanWithAKnobEach previews plans whose features, ten a phase, each set a
// knob of their own. Ten times the features should take about ten times as long.
func BenchmarkPlanWithAKnobEach(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.Chdir(b.TempDir())
			if err := os.WriteFile(filepath.Join(".", "plan.hcl"), []byte(planWithAKnobEach(n)), 0o644); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if status := run(b.Context(), []string{"plan", "plan.hcl"}, io.Discard, io.Discard); status != 0 {
					b.Fatalf("status %d", status)
				}
			}
		})
	}
}

func planWithAKnobEach(n int) string {
	var text strings.Builder
	text.WriteString(`plan "big" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 8
  output_tokens = 8
}
protocol "p" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
`)
	for i := range n {
		fmt.Fprintf(&text, "knob \"k%d\" {\n  default = \"off\"\n  value \"off\" {\n    must_see { log = [\"*off%[1]d*\"] }\n  }\n  value \"on\" {\n    env = { X%[1]d = \"1\" }\n    must_see { log = [\"*on%[1]d*\"] }\n  }\n}\n", i)
	}
	for i := range n {
		if i%10 == 0 {
			fmt.Fprintf(&text, "phase \"p%d\" {\n", i/10)
		}
		fmt.Fprintf(&text, "  feature \"f%d\" {\n    set = { k%[1]d = \"on\" }\n    criterion \"c\" { rule = \"chat.tg.gain >= 0.05\" }\n  }\n", i)
		if i%10 == 9 {
			text.WriteString("}\n")
		}
	}
	return text.String()
}
