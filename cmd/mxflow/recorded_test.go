package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// fixturePlan is the plan that recorded decisions of tests are by. RULES are the
// gate's, CRITERIA the feature's, HEAD stands before all.
const fixturePlan = `plan "port" {}
HEAD
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    must_see { log = ["*all experts*"] }
  }
  value "routed" {
    env = { MXFLOW_EMBEDDED_MOE = "routed" }
    must_see { log = ["*routed experts*"] }
  }
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 33
  requests      = 3
}
protocol "standard" {
  level "smoke" { expect = "Paris" }
  level "kernels" {}
  level "benchmark" {
    workloads = [workload.chat]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "experts" {
  feature "routed" {
    set = { moe = "routed" }
CRITERIA
  }
  gate {
RULES
  }
}
`

// recordedState is a state directory as an apply would leave it, made of launches
// whose speeds a test chooses.
type recordedState struct {
	t    testing.TB
	dir  string
	st   *store.Store
	plan *plans.Plan
	at   time.Time
	run  int
	node map[string]int // attempts
	// tamper changes a decision before it is recorded.
	tamper func(*ledger.Decision)
	// forgets launch noise that is on record.
	forgets bool
	// crashes are launches that crashed, by ID.
	crashes map[string]float64
	// sealed leaves the values of variables out of the record.
	sealed bool
	// block is the plan's engine of the launches, where they name it.
	block string
	// arch is the machine's, if it is another; change is made to each launch.
	arch   string
	change func(*ledger.Launch)
}

func newRecordedState(t testing.TB) *recordedState {
	t.Helper()
	s := &recordedState{
		t: t, dir: t.TempDir(), at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
		node: map[string]int{},
	}
	var err error
	if s.st, err = store.Open(s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.st.Close() })
	return s
}

func (s *recordedState) append(r *ledger.Record) {
	s.t.Helper()
	s.at = s.at.Add(time.Second)
	r.Time, r.Run = s.at, fmt.Sprintf("run-%d", s.run)
	must.Do(s.t, s.st.Append(r))
}

// apply begins a run by a plan.
func (s *recordedState) apply(src string, vars map[string]string) {
	s.t.Helper()
	res := load.Bytes("plan.hcl", []byte(src), steps.Registry(), load.Options{Vars: vars})
	if !res.OK() {
		s.t.Fatal(res.Diagnostics)
	}
	sum, err := s.st.Put([]byte(src))
	must.Do(s.t, err)
	s.plan, s.run = res.Plan, s.run+1
	inputs := &plans.Inputs{Variables: vars}
	if s.sealed {
		inputs = &plans.Inputs{Sealed: map[string]string{}}
		key, err := store.SecretKey(s.dir)
		must.Do(s.t, err)
		for name, value := range vars {
			inputs.Sealed["var."+name] = redact.Sealed(key, value)
		}
	}
	s.append(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{
		Plan: res.Plan.Name, PlanFile: "plan.hcl", PlanDigest: res.Plan.Digest(), PlanSource: sum, Tool: "mxflow test",
		Environment: map[string]string{"arch": cmp.Or(s.arch, goruntime.GOARCH)}, Inputs: inputs,
	}})
}

// session records launches of both arms in the order ABBA BAAB, by their speeds.
func (s *recordedState) session(id string, baseline, candidate []float64) {
	s.t.Helper()
	order := 0
	for round := 1; round <= max(len(baseline), len(candidate)); round++ {
		arms := []string{"baseline", "routed"}
		if round%4 == 2 || round%4 == 3 {
			slices.Reverse(arms)
		}
		for _, arm := range arms {
			speeds := map[string][]float64{"baseline": baseline, "routed": candidate}[arm]
			if round > len(speeds) {
				continue
			}
			order++
			s.launch(id, arm, round, order, speeds[round-1])
		}
	}
}

// launch records one launch that decodes at a speed, with its raw samples.
func (s *recordedState) launch(session, arm string, round, order int, speed float64) {
	s.t.Helper()
	var r measure.Recording
	for i := range 3 {
		first := 20 * time.Millisecond
		gap := time.Duration(math.Round(32 / (speed * (1 + 0.001*float64(i-1))) * 1e9))
		due := time.Duration(i) * 10 * time.Second
		r.Samples = append(r.Samples, measure.Sample{
			Workload: "chat", Index: i, Scheduled: due, Due: due, Start: due, PromptTokens: 64, OutputTokens: 33,
			CachedTokens: -1, TokenSource: measure.SourceContinuousUsage,
			Events: []measure.Event{
				{At: first, Kind: measure.KindText, Tokens: 1, Bytes: 3},
				{At: first + gap/2, Kind: measure.KindText, Tokens: 17, Bytes: 60},
				{At: first + gap, Kind: measure.KindText, Tokens: 33, Bytes: 60},
			},
		})
	}
	r.Cells = []measure.CellRun{{Cell: "chat", From: 0, To: 40 * time.Second}}
	metrics := measure.Evaluate(r)
	gb := 2.0 + 0.01*float64(order)
	of := func(unit string, x float64) measure.Summary {
		stats := map[string]float64{"median": x, "mean": x, "min": x, "max": x}
		return measure.Summary{Unit: unit, Better: measure.Lower, N: 1, Stats: stats}
	}
	id := fmt.Sprintf("%s.%s.%d", session, arm, round)
	if metrics["engine.memory_gb"] = of("GB", gb); s.crashes != nil {
		metrics["engine.crashes"] = of("count", s.crashes[id])
	}
	l := &ledger.Launch{
		ID: id, Session: session, Purpose: "benchmark", Node: "feature.routed.benchmark",
		Variant: arm, VariantKey: arm, Work: "w", Block: s.block,
		Knobs: map[string]string{"moe": map[string]string{"baseline": "all", "routed": "routed"}[arm]}, Ordinal: round,
		Order: order, Started: s.at, Seconds: 60, OK: true,
		Engine: map[string]string{"kind": "embedded"}, Cells: r.Cells, Metrics: metrics,
	}
	must.Do(s.t, s.st.WriteSamples(fmt.Sprintf("run-%d", s.run), l, r.Samples))
	if s.change != nil {
		s.change(l)
	}
	s.append(&ledger.Record{Type: "launch", Launch: l})
}

// broken records a launch that broke.
func (s *recordedState) broken(session, arm string, round, order int) {
	s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
		ID: fmt.Sprintf("%s.%s.%d.broken", session, arm, round), Session: session, Purpose: "benchmark",
		Node:    "feature.routed.benchmark",
		Variant: arm, VariantKey: arm, Work: "w", Ordinal: round, Order: order, Started: s.at,
		Error: fact("the engine ended with exit status 1"),
	}})
}

// evidence is what a decision on a session rests on.
func (s *recordedState) evidence(session string) gates.Feature {
	ev := gates.Feature{
		Name: "routed", Session: session, Max: 8, Knobs: map[string]string{"moe": "routed"},
		Candidate: gates.Arm{Name: "routed"}, Parent: gates.Arm{Name: "baseline"}, Root: gates.Arm{Name: "baseline"},
		Levels: map[string]verdict.Verdict{"smoke": verdict.Pass, "kernels": verdict.Pass, "benchmark": verdict.Pass},
	}
	for _, l := range s.st.Launches(store.LaunchFilter{Session: session}) {
		if !l.OK {
			continue
		}
		if l.Variant == "routed" {
			ev.Candidate.Launches = append(ev.Candidate.Launches, gates.Launch{ID: l.ID})
		} else {
			ev.Parent.Launches = append(ev.Parent.Launches, gates.Launch{ID: l.ID})
		}
	}
	ev.Root.Launches = ev.Parent.Launches
	if s.forgets {
		return ev
	}
	work := s.st.Launches(store.LaunchFilter{Session: session})
	for address, n := range decide.Noise(decide.NoiseBefore(s.st.Records(), session, work[0].Work, work[0].VariantKey),
		[]string{"chat.tg"}, []string{"baseline", "routed"}) {
		ev.Noise = map[string]verdict.Noise{address: n}
	}
	ev.Try = decide.Tries(s.st.Records(), "routed", "routed", "baseline", session, "w")
	return ev
}

// decide records the feature's and the gate's decision on a session.
func (s *recordedState) decide(session string) {
	s.t.Helper()
	ev := s.evidence(session)
	statistics := &gates.Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8, Version: decide.Version}
	record := func(node, kind string, rules []*plans.Rule, ev gates.Feature, levels []ledger.Level) *ledger.Decision {
		all, err := decide.Read([]gates.Feature{ev}, s.st.LaunchByID)
		must.Do(s.t, err)
		d := &ledger.Decision{
			Node: node, Kind: kind, Phase: "experts", MeasureKey: "m-" + session, DecisionKey: "d", Levels: levels,
			Session: session, Statistics: statistics, Evidence: []gates.Feature{ev}, Because: verdict.Say("first",
				"first"),
		}
		var joined []verdict.Verdict
		for _, l := range levels {
			joined = append(joined, l.Verdict)
		}
		for _, r := range gates.Decide(rules, all, *statistics) {
			r.Role = map[string]string{"gate": "rule", "feature": "criterion"}[kind]
			d.Rules = append(d.Rules, r)
			joined = append(joined, r.Verdict)
		}
		d.Verdict = verdict.Join(joined...)
		if ev.Try > 1 {
			d.Notes = append(d.Notes, gates.TryNote("routed", ev.Try, statistics.FalsePass))
		}
		if kind == "feature" {
			d.Findings = gates.Findings(rules, d.Rules, all, *statistics)
		}
		if s.node[node]++; s.node[node] > 1 {
			d.Because, d.Supersedes = verdict.Say("rerun", "--rerun"), true
		}
		d.Attempt = s.node[node]
		if s.tamper != nil {
			s.tamper(d)
		}
		return d
	}
	levels := []ledger.Level{
		{Name: "smoke", Verdict: verdict.Pass},
		{Name: "kernels", Verdict: verdict.Pass},
		{Name: "benchmark", Verdict: verdict.Pass},
	}
	f := record("feature.routed", "feature", s.plan.Phases[0].Features[0].Criteria, ev, levels)
	f.Feature, f.Accepted = "routed", f.Verdict == verdict.Pass
	s.append(&ledger.Record{Type: "decision", Decision: f})
	ev.Outcome, ev.Accepted = f.Verdict, f.Accepted
	s.append(&ledger.Record{
		Type:     "decision",
		Decision: record("phase.experts", "gate", s.plan.Phases[0].Gate.Rules, ev, nil),
	})
}

const tenPercent = "chat.tg.gain >= 0.10"

// once records one session of a clear gain and the decisions on it.
func once(s *recordedState) {
	s.session("s-1", steadyBase[:4], clearGain[:4])
	s.decide("s-1")
}

// twice records two sessions against the same baseline, the second of four launches of each arm, and
// does something between them.
func (s *recordedState) twice(first, second []float64, between func()) {
	s.session("s-1", steadyBase, first)
	s.decide("s-1")
	between()
	s.session("s-2", steadyBase[:4], second[:4])
	s.decide("s-2")
}

// gate changes the gate's decision alone.
func gate(change func(*ledger.Decision)) func(*ledger.Decision) {
	return func(d *ledger.Decision) {
		if d.Kind == "gate" {
			change(d)
		}
	}
}

// artifactOf is the file of an artifact.
func artifactOf(s *recordedState, sum string) string {
	return filepath.Join(s.dir, "artifacts", "sha256", sum[:2], sum[2:])
}
