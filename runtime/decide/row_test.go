package decide

import (
	"fmt"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const comparing = `
plan "compared" {}
engine "openai" "slow" {
  process { command = ["slow"] }
}
engine "openai" "fast" {
  process { command = ["fast"] }
}
workload "chat" {
  prompt_tokens = 16
  output_tokens = 8
}
phase "p" {
  step "compare" "both" {
    engines   = [engine.openai.slow, engine.openai.fast]
    reference = engine.openai.slow
    workloads = [workload.chat]
    launches  = 4
  }
}
phase "after" {
  after = [phase.p]
  gate {
    rule "twice as fast" { rule = "compare.both['openai.fast'].chat.tg.gain >= 1" }
  }
}
`

// A gate decides a claim about a row by the launches of the comparison, each way; and
// what did not come about is no pass.
func TestGateReadsRows(t *testing.T) {
	reg := planstest.Registry()
	reg.Steps[plans.CompareStep] = plans.Schema{Attrs: []plans.Attr{
		{Name: "engines", Type: plans.Refs, Ref: "engine"},
		{Name: "reference", Type: plans.Reference, Ref: "engine"},
		{Name: "workloads", Type: plans.Refs, Ref: "workload"},
		{Name: "launches", Type: plans.Int},
	}}
	res := load.Bytes("plan.hcl", []byte(comparing), reg, load.Options{})
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	passed := func(fast, slow verdict.Verdict) *ledger.Decision {
		return &ledger.Decision{Verdict: verdict.Pass, Session: "s", Rows: []verdict.Row{
			{Name: "openai.slow", Reference: true, Verdict: slow, Why: fact("slow broke")},
			{Name: "openai.fast", Verdict: fast, Why: fact("fast broke")},
		}}
	}
	for name, c := range map[string]struct {
		step *ledger.Decision
		fast []float64
		want verdict.Verdict
	}{
		"faster":           {passed(verdict.Pass, verdict.Pass), []float64{300, 303, 301, 302}, verdict.Pass},
		"not as fast":      {passed(verdict.Pass, verdict.Pass), []float64{150, 151, 152, 151}, verdict.Fail},
		"cannot be told":   {passed(verdict.Pass, verdict.Pass), []float64{120, 390, 150, 240}, verdict.Inconclusive},
		"row broke":        {passed(verdict.Error, verdict.Pass), []float64{300, 303, 301, 302}, verdict.Error},
		"row invalid":      {passed(verdict.Invalid, verdict.Pass), []float64{300, 303, 301, 302}, verdict.Invalid},
		"reference broke":  {passed(verdict.Pass, verdict.Error), []float64{300, 303, 301, 302}, verdict.Error},
		"two launches":     {passed(verdict.Pass, verdict.Pass), []float64{300, 301}, verdict.Inconclusive},
		"no such rows":     {&ledger.Decision{Verdict: verdict.Pass}, nil, verdict.Invalid},
		"step was not run": {nil, nil, verdict.Invalid},
	} {
		step := runtime.StepID("p", plans.CompareStep, "both")
		on := ledgerOf{{Run: "r", RunStart: &ledger.RunStart{Goals: Goals(res.Plan)}}}
		add := func(engine string, values []float64) {
			for i, tg := range values {
				l := &ledger.Launch{
					ID: fmt.Sprint(engine, i), Session: "s", Purpose: ledger.ForBenchmark, Variant: engine,
					VariantKey: engine, Ordinal: i + 1, OK: true,
					Metrics: map[string]measure.Summary{"chat.tg": {
						Unit: "tok/s", Better: measure.Higher, N: 10,
						Stats: map[string]float64{"median": tg},
					}},
				}
				on = append(on, &ledger.Record{Run: "r", Launch: l})
				c.step.Launches = append(c.step.Launches, l.ID)
			}
		}
		add("openai.fast", c.fast)
		add("openai.slow", []float64{100, 101, 99, 100}[:len(c.fast)])
		v := &View{
			Plan: res.Plan, Goals: Goals(res.Plan), Record: on,
			Outcomes: &runtime.NodeOutcomes{
				Decisions: map[string]*ledger.Decision{step: c.step},
				Locks:     map[string]verdict.Reason{step: fact("locked")},
			},
		}
		d, err := decideGate(v, res.Plan.Phase("after"))
		if err != nil || d.Verdict != c.want {
			t.Errorf("%s: %v (%v), want %s", name, d, err, c.want)
			continue
		}
		// What is kept of it decides the same again.
		ev, err := Read(d.Evidence, on.LaunchByID)
		if err != nil || len(ev) != 1 {
			t.Fatalf("%s: %v, %v", name, ev, err)
		}
		if again := JoinVerdicts(string(runtime.KindGate), nil,
			gates.Decide(res.Plan.Phase("after").Gate.Rules, ev, gateSettings(res.Plan))); again != c.want {
			t.Errorf("%s: %s when decided again, want %s", name, again, c.want)
		}
	}
}
