package store

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s := must.Get(Open(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func openReadOnly(t testing.TB, dir string) *Store {
	t.Helper()
	s := must.Get(OpenReadOnly(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t testing.TB, s *Store, recs ...*ledger.Record) {
	t.Helper()
	must.Do(t, s.Append(recs...))
}

func runStart(run string) *ledger.Record {
	return &ledger.Record{Type: "run", Time: noon, Run: run, RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test"}}
}

func runEnd(run string) *ledger.Record {
	return &ledger.Record{Type: "end", Time: noon.Add(time.Hour), Run: run, End: &ledger.End{Verdict: verdict.Fail, Exit: 2, Reason: verdict.New(code.Finished)}}
}

func launch(run, id, key string, seconds float64, ok bool) *ledger.Record {
	return &ledger.Record{Type: "launch", Time: noon, Run: run, Launch: &ledger.Launch{
		ID: id, Session: "s-" + key, Purpose: "benchmark", Node: "baseline", Variant: key, VariantKey: key, Ordinal: 1, Order: 1,
		Started: noon, Seconds: seconds, OK: ok, Engine: map[string]string{"kind": "embedded"},
		Metrics: map[string]measure.Summary{"chat.tg": {Unit: "tok/s", Better: "higher", N: 10, Stats: map[string]float64{"mean": 57.85, "median": 57.9}}},
	}}
}

func decision(run, node string, attempt int, v verdict.Verdict) *ledger.Record {
	value, low := 0.12, 0.10
	return &ledger.Record{Type: "decision", Time: noon, Run: run, Decision: &ledger.Decision{
		Node: node, Kind: "feature", MeasureKey: "m", DecisionKey: "d", Attempt: attempt, Verdict: v, Because: verdict.Say("first",
			"first"),
		Reasons: []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", "chat.tg.gain 12% >= 10%"))},
		Rules: []ledger.Rule{{
			Name: "decode", Role: "criterion", Expr: "chat.tg.gain >= 0.10", Source: "p.hcl:3:5", Verdict: v, Decides: true,
			Inputs: []ledger.Input{{Path: "chat.tg.gain", Value: &value, N: 5, BaseN: 5, Low: &low}},
		}},
	}}
}
