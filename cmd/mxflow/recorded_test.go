package main

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
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
		Goals: decide.Goals(res.Plan),
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

// decide records what an apply would of a session: that the feature qualified and was measured, and the
// feature's and the gate's decision on that.
func (s *recordedState) decide(session string) {
	s.t.Helper()
	g, err := runtime.NewGraph(s.plan)
	must.Do(s.t, err)
	known, knobs := map[string]*ledger.Decision{}, map[string]string{"moe": "routed"}
	record := func(node string, d *ledger.Decision) {
		n := g.Node(node)
		d.Node, d.Kind, d.Phase, d.Feature = n.ID, string(n.Kind), n.Phase, n.Feature
		d.MeasureKey, d.DecisionKey, d.Because = "m-"+session, "d", verdict.Say("first", "first")
		if s.node[node]++; s.node[node] > 1 {
			d.Because, d.Supersedes = verdict.Say("rerun", "--rerun"), true
		}
		d.Attempt = s.node[node]
		if known[node] = d; s.tamper != nil && n.Kind != runtime.KindQualify && n.Kind != runtime.KindBenchmark {
			s.tamper(d)
		}
		s.append(&ledger.Record{Type: "decision", Decision: d})
	}
	record("feature.routed.qualify", &ledger.Decision{Verdict: verdict.Pass, Variant: knobs})
	measured := &ledger.Decision{
		Verdict: verdict.Pass, Variant: knobs, Session: session,
		Levels: []ledger.Level{{Name: "benchmark", Verdict: verdict.Pass}},
	}
	for _, l := range s.st.Launches(store.LaunchFilter{Session: session, OK: true}) {
		measured.Launches = append(measured.Launches, l.ID)
	}
	record("feature.routed.benchmark", measured)
	view := &decide.View{
		Plan: s.plan, Graph: g, Outcomes: &runtime.NodeOutcomes{Decisions: known}, Record: s.st, Identities: armsOf{s},
		Goals: decide.Goals(s.plan),
	}
	if s.forgets {
		view.Record = forgetful{s.st, session}
	}
	for _, node := range []string{"feature.routed", "phase.experts"} {
		d, err := decide.Node(view, g.Node(node))
		must.Do(s.t, err)
		d.Derived = true
		record(node, d)
	}
}

// armsOf are the variants of the fixture's launches.
type armsOf struct{ s *recordedState }

func (armsOf) Arms(*plans.Feature) (decide.Arms, error) {
	arm := func(name, moe string) decide.Arm {
		return decide.Arm{Name: name, Engine: "embedded.tiny", Knobs: map[string]string{"moe": moe}, Key: name}
	}
	base := arm("baseline", "all")
	return decide.Arms{Candidate: arm("routed", "routed"), Parent: base, Root: base}, nil
}

func (armsOf) Changed(*plans.Feature) verdict.Reason { return verdict.Reason{} }

// forgetful is a record that begins with a session.
type forgetful struct {
	*store.Store
	session string
}

func (f forgetful) Records() iter.Seq2[int, *ledger.Record] {
	return func(yield func(int, *ledger.Record) bool) {
		for i, r := range f.Store.Records() {
			if (r.Launch == nil || r.Launch.Session == f.session) && !yield(i, r) {
				return
			}
		}
	}
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
