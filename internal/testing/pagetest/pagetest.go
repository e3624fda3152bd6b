// Package pagetest makes records with something for every section of a page.
package pagetest

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// State writes a state directory with something for every section of a page.
type State struct {
	t     testing.TB
	Store *store.Store
	at    time.Time
}

// New is an empty one.
func New(t testing.TB) *State {
	st := must.Get(store.Open(t.TempDir()))(t)
	t.Cleanup(func() { st.Close() })
	return &State{t, st, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
}

// PlanOf is a plan whose phases need each other, the second of a pair the first.
func PlanOf(edges [][2]string) *plans.Plan {
	p := &plans.Plan{}
	for _, e := range edges {
		p.Phases = append(p.Phases, &plans.Phase{Name: e[1], After: []string{e[0]}})
	}
	return p
}

// Add records at the next instant.
func (s *State) Add(records ...*ledger.Record) {
	s.t.Helper()
	for _, r := range records {
		s.at = s.at.Add(50 * time.Millisecond) // so close that an axis names seconds, the longest labels
		r.Time, r.Run = s.at, "r1"
	}
	if err := s.Store.Append(records...); err != nil {
		s.t.Fatal(err)
	}
}

// Launch is one start: its files are kept where they are given.
func (s *State) Launch(session, variant string, round int, tg float64, files bool) *ledger.Launch {
	one := func(v float64, unit string, better measure.Better) measure.Summary {
		return measure.Summary{
			Unit: unit, Better: better, N: 8,
			Stats: map[string]float64{"median": v, "mean": v, "max": v},
		}
	}
	l := &ledger.Launch{
		ID: fmt.Sprintf("%s.%s.%d", session, variant, round), Session: session, Purpose: ledger.ForBenchmark,
		Node: "feature.x.benchmark", Variant: variant, VariantKey: "key " + variant,
		Block: "vllm.main", Ordinal: round, Order: round, Started: s.at, OK: true, Seconds: 80,
		Cells: []measure.CellRun{
			{Cell: "chat", Dimensions: measure.Dimensions{Prompt: 512, Output: 128, Concurrency: 4}},
		},
		Metrics: map[string]measure.Summary{
			"chat.tg": one(tg, "tok/s", measure.Higher), "chat.ttft": one(9000/tg, "ms", measure.Lower),
			"engine.memory_gb": one(60+tg/40, "GB", measure.Lower),
			"gpu.power_w":      one(200+2*tg, "W", measure.Lower), "gpu.clock_mhz": one(1900, "MHz", measure.Neither),
			"levels.correctness.kl": one(0.0001*tg, "nats/token", measure.Lower),
		},
	}
	if !files {
		return l
	}
	var samples []measure.Sample
	for i := range 8 {
		sample := measure.Sample{
			Workload: "chat", Index: i, PromptTokens: 512, OutputTokens: 4, CachedTokens: -1,
			TokenSource: "usage",
		}
		for token := range 4 {
			at := time.Duration((9+float64(token))*1000/tg*float64(10+i)) * time.Millisecond / 10
			sample.Events = append(sample.Events, measure.Event{At: at, Kind: measure.KindText, Tokens: 1, Bytes: 4})
		}
		samples = append(samples, sample)
	}
	power := measure.Series{Name: measure.GPUPower, Source: "GPU-0", Unit: "W"}
	clock := measure.Series{Name: measure.GPUClock, Source: "GPU-0", Unit: "MHz"}
	for i := range 300 {
		power.At, power.Value = append(power.At, time.Duration(i)*100*time.Millisecond),
			append(power.Value, 200+2*tg+30*math.Sin(float64(i)/9))
		clock.At, clock.Value = append(clock.At, time.Duration(i)*100*time.Millisecond),
			append(clock.Value, 1900-10*math.Cos(float64(i)/20))
	}
	if err := s.Store.WriteSamples("r1", l, samples); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Store.WriteSeries("r1", l, []measure.Series{power, clock}); err != nil {
		s.t.Fatal(err)
	}
	moe := 4200 - 10*tg
	text, err := json.Marshal(trace.Analysis{
		Format: trace.Format,
		Parts: []trace.Part{{Phase: trace.Decode, Requests: 4, Steps: 10, Categories: []trace.Category{
			{Name: "moe", Count: 10, Total: moe},
			{Name: "attention", Count: 10, Total: 1800},
			{Name: "dense_gemm", Count: 10, Total: 2200},
		}}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	sum, err := s.Store.Put(text)
	if err != nil {
		s.t.Fatal(err)
	}
	l.Left = map[string]string{"profile/analysis.json": sum}
	return l
}

// feature measures and decides one by its gain over the baseline.
func (s *State) feature(phase, name string, v verdict.Verdict, rounds int, base, own float64, files bool) {
	session := "s-" + name
	arms := map[string][]string{}
	test := &verdict.Test{
		Form: verdict.Ratio, Metric: "chat.tg", Stat: "median", Unit: "tok/s", Arm: name, Against: ledger.Baseline,
		Relation: "gain", Threshold: 0.1, More: true, Stop: stats.Passed,
	}
	var records []*ledger.Record
	for round := range rounds {
		wobble := 1 + 0.01*math.Sin(float64(7*round+len(name)))
		for _, arm := range []string{ledger.Baseline, name} {
			tg := base
			if arm == name {
				tg = own
			}
			l := s.Launch(session, arm, round+1, tg*wobble, files)
			if arm == "fp8" {
				l.Series = "" // over before anything was read
			}
			arms[arm] = append(arms[arm], l.ID)
			records = append(records, &ledger.Record{Type: "launch", Launch: l})
		}
		test.Base, test.Values, test.Rounds = append(test.Base, base*wobble), append(test.Values, own*wobble),
			append(test.Rounds, round+1)
	}
	gain := own/base - 1
	low, high := gain-0.03, gain+0.04
	test.Estimate, test.Low, test.High = &gain, &low, &high
	reason := verdict.New(code.AsWanted, verdict.Num("is", gain, "ratio"), verdict.Text("op", ">="),
		verdict.Num("wanted", 0.1, "ratio")).On("chat.tg.gain").Is(v)
	records = append(records, &ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "feature." + name, Kind: ledger.KindFeature, Phase: phase, Feature: name, Attempt: 1, Verdict: v,
		Accepted: v == verdict.Pass, Session: session, Reasons: []verdict.Reason{reason},
		Levels: []ledger.Level{
			{Name: "smoke", Verdict: verdict.Pass},
			{Name: "kernels", Verdict: verdict.Pass},
			{Name: "benchmark", Verdict: v},
		},
		Launches: append(arms[ledger.Baseline], arms[name]...),
		Hypothesis: &ledger.Hypothesis{
			Metric: "chat.tg", Expect: "+20%", Because: "fewer bytes a token",
			Outcome: "confirmed",
		},
		Rules: []verdict.Rule{
			{
				Name: "decode", Role: verdict.RoleCriterion, Decides: true, Verdict: v,
				Expr: "chat.tg.gain >= 0.1", Reasons: []verdict.Reason{reason},
				Comparisons: []verdict.Comparison{{Text: "chat.tg.gain >= 0.1", Verdict: v, Test: test}},
			},
			{
				Name: "first token", Verdict: v, Expr: "chat.ttft.max <= 1000",
				Comparisons: []verdict.Comparison{
					{Test: &verdict.Test{Form: verdict.Range, Metric: "chat.ttft", Stat: "max"}},
				},
			},
		},
		Evidence: []gates.Feature{{
			Name: name, Parent: armOf(ledger.Baseline, arms[ledger.Baseline]), Candidate: armOf(name, arms[name]),
		}},
	}})
	s.Add(records...)
}

// armOf is an arm that its first launch qualified.
func armOf(name string, ids []string) gates.Arm {
	a := gates.ArmOf(name, ids...)
	a.Qualified = a.Launches[0]
	return a
}

func (s *State) gate(phase string, v verdict.Verdict) {
	s.Add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "phase." + phase, Kind: ledger.KindGate, Phase: phase, Attempt: 1, Verdict: v,
		Reasons: []verdict.Reason{verdict.New(code.Feature).On("x").Is(v)},
	}})
}

// Hostile is a name that would run as a program, wherever a page forgot to escape it.
const Hostile = `x</script><script>boom()</script><img src=x onerror="boom()">'"&`

// Whole has every section, and names that nobody should trust.
func Whole(t testing.TB) (*State, *plans.Plan) {
	s := New(t)
	phases := []string{"kernels", "attention", Hostile, "serving"}
	nodes := []string{
		ledger.Baseline, "feature.moe", "feature.fp8", "phase.kernels", "phase.kernels.step.grid",
		"feature." + Hostile, "phase.attention", "phase." + Hostile, "phase.serving",
	}
	s.Add(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{
		Plan: "mxfp4 " + Hostile, PlanFile: "plan.hcl", Tool: "mxflow 0.1.0", Nodes: nodes,
		Environment: map[string]string{"gpu": "NVIDIA H100", "driver": "570.86", "host": Hostile},
		Targets: []ledger.Target{{
			Name: "llamacpp", Path: "target.llamacpp.chat.tg", Address: "chat.tg", Stat: "median",
			Value: 57.85, Unit: "tok/s", Better: "higher",
		}},
	}})
	s.feature("kernels", "moe", verdict.Pass, 4, 60, 84, true)
	s.feature("kernels", "fp8", verdict.Fail, 6, 60, 61, true)
	s.gate("kernels", verdict.Pass)
	speedup, slower := 1.42, 0.91
	s.Add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "phase.kernels.step.grid", Kind: "step", Phase: "kernels", Attempt: 1, Verdict: verdict.Pass,
		Rows: []verdict.Row{
			{
				Name: ledger.Baseline, Verdict: verdict.Pass, Reference: true,
				Cells: []verdict.Cell{
					{Address: "chat.tg", Sample: stats.Sample{Mean: 60}},
					{Address: "chat.ttft", Sample: stats.Sample{Mean: 150}},
				},
			},
			{
				Name: "moe=routed", Verdict: verdict.Pass, N: 3,
				Cells: []verdict.Cell{
					{Address: "chat.tg", Sample: stats.Sample{Mean: 85}, Speedup: &speedup},
					{Address: "chat.ttft", Sample: stats.Sample{Mean: 160}, Speedup: &slower},
				},
			},
			{Name: "moe=" + Hostile, Verdict: verdict.Error},
		},
	}})
	s.feature("attention", Hostile, verdict.Inconclusive, 8, 84, 92, true)
	s.gate("attention", verdict.Fail)
	for i, name := range []string{"moe2", "moe3"} {
		s.feature("kernels", name, verdict.Pass, 3, 60+float64(i), 85+float64(i), false)
	}
	s.Add(&ledger.Record{Type: "end", End: &ledger.End{
		Verdict: verdict.Fail, Exit: 2,
		Reason: verdict.New(code.Finished), Locked: map[string]verdict.Reason{
			"phase." + Hostile: verdict.New(code.Outcome).On("phase.attention").Is(verdict.Fail),
			"phase.serving":    verdict.New(code.Outcome).On("phase.attention").Is(verdict.Fail),
		},
	}})
	return s,
		PlanOf([][2]string{
			{phases[0], phases[1]},
			{phases[0], phases[2]},
			{phases[1], phases[3]},
			{phases[2], phases[3]},
		})
}
