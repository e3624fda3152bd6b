package session

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels"
)

// claimPlan has three features with one hypothesis: the second builds on the first, which
// nothing profiled, and the third has two alternatives.
const claimPlan = `
plan "claims" {}
engine "embedded" "tiny" {}
knob "a" {
  default = "off"
  value "off" {}
  value "on" { env = { A = "on" } }
  value "more" { env = { A = "more" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
  concurrency   = [1, 8, 64]
}
workload "open" {
  prompt_tokens = 16
  output_tokens = 8
  rate          = 2
}
protocol "p" {
  level "smoke" { expect = "x" }
  level "benchmark" { workloads = [workload.w, workload.open] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "port" {
    set = { a = "on" }
    hypothesis {
      %[1]s
      because = "its tiles fit"
    }
    criterion "c" { rule = "w.c1.tg.gain >= 0" }
  }
  feature "next" {
    set       = { a = "more" }
    builds_on = feature.port
    hypothesis {
      %[1]s
      because = "its tiles fit"
    }
    criterion "c" { rule = "w.c1.tg.gain >= 0" }
  }
  feature "tried" {
    choose = { a = ["on", "more"] }
    hypothesis {
      %[1]s
      because = "its tiles fit"
    }
    criterion "c" { rule = "w.c1.tg.gain >= 0" }
  }
}
`

// decodedOnH100 is a profile of vLLM on an H100, counted by hand: 938 of the 3,190 µs of a
// step are the experts'. With eight requests their share is larger, and larger still while
// prompts are read.
func decodedOnH100() *trace.Analysis {
	part := func(phase string, requests int, unprofiled, moe, dense float64) trace.Part {
		return trace.Part{
			Phase: phase, Requests: requests, Steps: 1, Tokens: requests, Wall: 1.25 * unprofiled, Busy: moe + dense,
			GPU: moe + dense, Unprofiled: unprofiled,
			Categories: []trace.Category{{Name: "dense_gemm", Total: dense}, {Name: "moe", Total: moe}},
		}
	}
	return &trace.Analysis{Format: trace.Format, Parts: []trace.Part{
		part(trace.Prefill, 1, 1000, 800, 100), part(trace.Decode, 1, 3190, 938, 2105),
		part(trace.Decode, 8, 6000, 3000, 2000),
	}}
}

// foreseen are the notes of the features' benchmarks, with the analysis on record as what
// a launch of the baseline left.
func foreseen(t *testing.T, hypothesis string, left []byte) map[string][]verdict.Reason {
	t.Helper()
	lab := labOf(t, fmt.Sprintf(claimPlan, hypothesis))
	var err error
	if lab.Launches.Store, err = store.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer lab.Launches.Store.Close()
	if left != nil {
		sum, err := lab.Launches.Store.Put(left)
		must.Do(t, err)
		a, err := lab.Launches.Arms(scopeOf(nil, nil), lab.Variants.Plan.Feature("port"))
		must.Do(t, err)
		record := func(id string, left map[string]string, invalid ...verdict.Reason) {
			l := &ledger.Launch{
				ID: id, Session: "q", Purpose: ledger.ForQualification, Variant: a.Parent.Name,
				VariantKey: a.Parent.Key, OK: true, Left: left, Invalid: invalid,
			}
			must.Do(t,
				lab.Launches.Store.Append(&ledger.Record{
					Type: "launch", Run: "r-1",
					Time: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Launch: l,
				}))
		}
		record("q.baseline.1", map[string]string{levels.Analysis: sum})
		record("q.baseline.2", nil)
		record("q.baseline.3", map[string]string{levels.Analysis: "of a GPU that was shared"},
			verdict.New(code.GPUShared))
	}
	r := &runtime.Runner{
		Plan: lab.Variants.Plan, Graph: lab.Launches.Graph, Journal: lab.Launches.Store.Journal(),
		Step: lab.Step, Run: "r-1",
	}
	preview, err := r.Reconcile()
	must.Do(t, err)
	notes := map[string][]verdict.Reason{}
	for _, p := range preview {
		notes[p.Node.ID] = p.Notes
	}
	return notes
}

// TestAttainable: a hypothesis beyond what its kernels allow is flagged before anything is
// ported, and what nobody knows is said to be unknown.
func TestAttainable(t *testing.T) {
	text := func(change ...func(a *trace.Analysis)) []byte {
		a := decodedOnH100()
		for _, c := range change {
			c(a)
		}
		text, err := json.Marshal(a)
		must.Do(t, err)
		return text
	}
	for name, c := range map[string]struct {
		metric, expect, kernels string
		left                    []byte
		want, why               code.Kind
		most                    float64
	}{
		// 938 µs ÷ 3 less of 3,190: 312.667 ÷ 2,877.333.
		"beyond":          {"w.c1.tg", "+11%", "moe = 1.5", text(), "forecast.unattainable", "", 0.108666},
		"within":          {"w.c1.tg", "+10.8%", "moe = 1.5", text(), "forecast.attainable", "", 0.108666},
		"a bound":         {"w.c1.tg", ">= 11%", "moe = 1.5", text(), "forecast.unattainable", "", 0.108666},
		"another average": {"w.c1.tg.mean", "+11%", "moe = 1.5", text(), "forecast.unattainable", "", 0.108666},
		"a price":         {"w.c1.tg", ">= -3%", "moe = 1.5", text(), "forecast.attainable", "", 0.108666},
		// 312.667 ÷ 3,190 of a latency.
		"a latency beyond": {"w.c1.tpot", "-9.9%", "moe = 1.5", text(), "forecast.unattainable", "", -0.098015},
		"a latency within": {"w.c1.tpot", "-9.7%", "moe = 1.5", text(), "forecast.attainable", "", -0.098015},
		// 266.667 of 1,000 in prefill.
		"a prompt": {"w.c1.pp", "+40%", "moe = 1.5", text(), "forecast.unattainable", "", 0.363636},
		// At eight requests decoding gains 1,000 of 6,000 µs, and prompts among it more.
		"among prompts": {"w.c8.tg", "+30%", "moe = 1.5", text(), "forecast.attainable", "", 0.363636},
		// Without the step's own time it is as short as the GPU's: 312.667 ÷ 2,730.333.
		"a step that was not measured": {"w.c1.tg", "+11%", "moe = 1.5", text(func(a *trace.Analysis) {
			a.Parts[1].Unprofiled = 0
		}), "forecast.attainable", "", 0.114516},

		"no kernels named": {"w.c1.tg", "+11%", "", text(), "", "", 0},
		"no profile":       {"w.c1.tg", "+11%", "moe = 1.5", nil, "forecast.unforeseen", "forecast.unprofiled", 0},
		"other requests":   {"w.c64.tg", "+11%", "moe = 1.5", text(), "forecast.unforeseen", "forecast.no_part", 0},
		"no such kernels": {
			"w.c1.tg", "+11%", "attention = 1.5", text(), "forecast.unforeseen",
			"forecast.no_kernels", 0,
		},
		"no steps": {
			"w.c1.tg", "+11%", "moe = 1.5", text(func(a *trace.Analysis) { a.Parts[1].Steps = 0 }),
			"forecast.unforeseen", "forecast.no_part", 0,
		},
		"a level": {
			"w.c1.tg", ">= 350", "moe = 1.5", text(), "forecast.unforeseen",
			"forecast.not_relative", 0,
		},
		"another metric": {
			"engine.startup_s", "-11%", "moe = 1.5", text(), "forecast.unforeseen",
			"forecast.not_of_steps", 0,
		},
		"a tail": {
			"w.c1.itl.p99", "-11%", "moe = 1.5", text(), "forecast.unforeseen",
			"forecast.not_of_steps", 0,
		},
		"an open loop": {"open.tg", "+11%", "moe = 1.5", text(), "forecast.unforeseen", "forecast.not_closed", 0},
		"cut": {
			"w.c1.tg", "+11%", "moe = 1.5", text()[:100], "forecast.unforeseen",
			"forecast.profile_unread", 0,
		},
		"another form": {"w.c1.tg", "+11%", "moe = 1.5", text(func(a *trace.Analysis) {
			a.Format = "mxflow.profile/9"
		}), "forecast.unforeseen", "forecast.profile_unread", 0},
		"overlapping": {"w.c1.tg", "+11%", "moe = 9", text(func(a *trace.Analysis) {
			a.Parts[1].Categories[1].Total, a.Parts[1].GPU = 9000, 11105
		}), "forecast.unforeseen", "forecast.nothing_left", 0},
	} {
		hypothesis := fmt.Sprintf("metric = %q\n expect = %q\n", c.metric, c.expect)
		if c.kernels != "" {
			hypothesis += "kernels = { " + c.kernels + " }"
		}
		notes := foreseen(t, hypothesis, c.left)
		port, next := notes[runtime.BenchmarkID("port")], notes[runtime.BenchmarkID("next")]
		// Of alternatives it is said once.
		if first, second := notes[runtime.BenchmarkID("tried[on]")],
			notes[runtime.BenchmarkID("tried[more]")]; !slices.EqualFunc(first, port, verdict.Reason.Equal) ||
			len(second) > 0 {
			t.Errorf("%s: of alternatives it says %v, %v", name, verdict.Lines(first), verdict.Lines(second))
		}
		if c.want == "" {
			if len(port)+len(next) > 0 {
				t.Errorf("%s: %v, %v", name, verdict.Lines(port), verdict.Lines(next))
			}
			continue
		}
		if len(port) != 1 || port[0].Kind != c.want || c.why != "" && !verdict.Holds(port[0].Causes, c.why) {
			t.Errorf("%s: %+v, want %s from %s", name, port, c.want, c.why)
			continue
		}
		if most := port[0].Values["most"].Number; c.most != 0 && (most == nil || math.Abs(*most-c.most) > 1e-5) {
			t.Errorf("%s: %s, want at most %v", name, port[0].String(), c.most)
		}
		// A profile of the baseline says nothing of what was ported onto it.
		if sound := c.why == "" || c.why == "forecast.unprofiled"; sound &&
			!slices.ContainsFunc(next, func(r verdict.Reason) bool {
				return verdict.Holds(r.Causes, "forecast.unprofiled")
			}) {
			t.Errorf("%s: of a feature on another one it says %v", name, verdict.Lines(next))
		}
		t.Log(name+":", port[0].String())
	}
}
