package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/again"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/replay"
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
	// exchanged launches name the raw data of the other arm.
	exchanged bool
}

func newRecordedState(t testing.TB) *recordedState {
	t.Helper()
	s := &recordedState{t: t, dir: t.TempDir(), at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), node: map[string]int{}}
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
	if err := s.st.Append(r); err != nil {
		s.t.Fatal(err)
	}
}

// apply begins a run by a plan.
func (s *recordedState) apply(src string, vars map[string]string) {
	s.t.Helper()
	res := load.Bytes("plan.hcl", []byte(src), steps.Registry(), load.Options{Vars: vars})
	if !res.OK() {
		s.t.Fatal(res.Diagnostics)
	}
	sum, err := s.st.Put([]byte(src))
	if err != nil {
		s.t.Fatal(err)
	}
	s.plan, s.run = res.Plan, s.run+1
	inputs := &ledger.Inputs{Variables: vars}
	if s.sealed {
		inputs = &ledger.Inputs{Sealed: map[string]string{}}
		for name := range vars {
			inputs.Sealed["var."+name] = "mark"
		}
	}
	s.append(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{
		Plan: res.Plan.Name, PlanFile: "plan.hcl", PlanDigest: res.Plan.Digest(), PlanSource: sum, Tool: "mxflow test",
		Environment: map[string]string{"arch": goruntime.GOARCH}, Inputs: inputs,
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
			Workload: "chat", Index: i, Scheduled: due, Due: due, Start: due, PromptTokens: 64, OutputTokens: 33, CachedTokens: -1, TokenSource: measure.SourceContinuousUsage,
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
	metrics["engine.memory_gb"] = measure.Summary{Unit: "GB", Better: measure.Lower, N: 1, Stats: map[string]float64{"median": gb, "mean": gb, "min": gb, "max": gb}}
	if s.crashes != nil {
		crashed := s.crashes[fmt.Sprintf("%s.%s.%d", session, arm, round)]
		metrics["engine.crashes"] = measure.Summary{Unit: "count", Better: measure.Lower, N: 1, Stats: map[string]float64{"median": crashed, "mean": crashed, "min": crashed, "max": crashed}}
	}
	l := &ledger.Launch{
		ID: fmt.Sprintf("%s.%s.%d", session, arm, round), Session: session, Purpose: "benchmark", Node: "feature.routed.benchmark",
		Variant: arm, VariantKey: arm, Work: "w", Block: s.block, Ordinal: round, Order: order, Started: s.at, Seconds: 60, OK: true,
		Engine: map[string]string{"kind": "embedded"}, Cells: r.Cells, Metrics: metrics,
	}
	of := *l
	if s.exchanged {
		of.VariantKey = map[string]string{"baseline": "routed", "routed": "baseline"}[arm]
		of.ID = fmt.Sprintf("%s.%s.%d", session, of.VariantKey, round)
	}
	if err := s.st.WriteSamples(fmt.Sprintf("run-%d", s.run), &of, r.Samples); err != nil {
		s.t.Fatal(err)
	}
	l.Samples = of.Samples
	s.append(&ledger.Record{Type: "launch", Launch: l})
}

// broken records a launch that broke.
func (s *recordedState) broken(session, arm string, round, order int) {
	s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
		ID: fmt.Sprintf("%s.%s.%d.broken", session, arm, round), Session: session, Purpose: "benchmark", Node: "feature.routed.benchmark",
		Variant: arm, VariantKey: arm, Work: "w", Ordinal: round, Order: order, Started: s.at, Error: fact("the engine ended with exit status 1"),
	}})
}

// evidence is what a decision on a session rests on.
func (s *recordedState) evidence(session string) ledger.Evidence {
	ev := ledger.Evidence{
		Feature: "routed", Session: session, Max: 8, Knobs: map[string]string{"moe": "routed"},
		Candidate: ledger.Arm{Name: "routed"}, Parent: ledger.Arm{Name: "baseline"}, Root: ledger.Arm{Name: "baseline"},
		Levels: map[string]verdict.Verdict{"smoke": verdict.Pass, "kernels": verdict.Pass, "benchmark": verdict.Pass},
	}
	for _, l := range s.st.Launches(store.LaunchFilter{Session: session}) {
		if !l.OK {
			continue
		}
		if l.Variant == "routed" {
			ev.Candidate.Launches = append(ev.Candidate.Launches, l.ID)
		} else {
			ev.Parent.Launches = append(ev.Parent.Launches, l.ID)
		}
	}
	ev.Root.Launches = ev.Parent.Launches
	if s.forgets {
		return ev
	}
	work := s.st.Launches(store.LaunchFilter{Session: session})
	for address, n := range decide.Noise(decide.NoiseBefore(s.st.Records(), session, work[0].Work, work[0].VariantKey), []string{"chat.tg"}) {
		ev.Noise = map[string]verdict.Noise{address: n}
	}
	ev.Try = decide.Tries(s.st.Records(), "routed", "routed", "baseline", session, "w")
	return ev
}

// decide records the feature's and the gate's decision on a session.
func (s *recordedState) decide(session string) {
	s.t.Helper()
	ev := s.evidence(session)
	statistics := &ledger.Statistics{FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 8, Version: decide.Version}
	record := func(node, kind string, rules []*plans.Rule, ev ledger.Evidence, levels []ledger.Level) *ledger.Decision {
		all, err := decide.Assemble([]ledger.Evidence{ev}, s.st.LaunchByID)
		if err != nil {
			s.t.Fatal(err)
		}
		d := &ledger.Decision{
			Node: node, Kind: kind, Phase: "experts", MeasureKey: "m-" + session, DecisionKey: "d", Levels: levels,
			Session: session, Statistics: statistics, Evidence: []ledger.Evidence{ev}, Because: verdict.New(code.First),
		}
		var joined []verdict.Verdict
		for _, l := range levels {
			joined = append(joined, l.Verdict)
		}
		for _, r := range gates.Decide(rules, all, decide.RecordedSettings(statistics)) {
			r.Role = map[string]string{"gate": "rule", "feature": "criterion"}[kind]
			d.Rules = append(d.Rules, r)
			joined = append(joined, r.Verdict)
		}
		d.Verdict = verdict.Join(joined...)
		if ev.Try > 1 {
			d.Reasons = append(d.Reasons, gates.Tried("routed", ev.Try, statistics.FalsePass))
		}
		if kind == "feature" {
			d.Findings = gates.Findings(rules, d.Rules, all, decide.RecordedSettings(statistics))
		}
		if s.node[node]++; s.node[node] > 1 {
			d.Because, d.Supersedes = verdict.New(code.Rerun), true
		}
		d.Attempt = s.node[node]
		if s.tamper != nil {
			s.tamper(d)
		}
		return d
	}
	levels := []ledger.Level{{Name: "smoke", Verdict: verdict.Pass}, {Name: "kernels", Verdict: verdict.Pass}, {Name: "benchmark", Verdict: verdict.Pass}}
	f := record("feature.routed", "feature", s.plan.Phases[0].Features[0].Criteria, ev, levels)
	f.Feature, f.Accepted = "routed", f.Verdict == verdict.Pass
	s.append(&ledger.Record{Type: "decision", Decision: f})
	ev.Outcome, ev.Accepted = f.Verdict, f.Accepted
	s.append(&ledger.Record{Type: "decision", Decision: record("phase.experts", "gate", s.plan.Phases[0].Gate.Rules, ev, nil)})
}

// replaysWith decides what is recorded by another plan, and checks the exit status
// and what is said, which it returns with single spaces.
func (s *recordedState) replaysWith(t *testing.T, plan string, exit int, want []string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	got, out, errs := mxflow(slices.Concat([]string{"audit", "replay", "--state", s.dir, "--plan", path}, args)...)
	if got != exit {
		t.Errorf("exit status %d, want %d", got, exit)
	}
	said := evenly(out + errs)
	for _, w := range want {
		if !strings.Contains(said, evenly(w)) {
			t.Errorf("%q is missing", w)
		}
	}
	if t.Failed() {
		t.Log(out + errs)
	}
	return said
}

// TestReplayMissesNoise: a record that leaves out launch noise which was known had
// no floor under its spread, and does not agree although all its numbers do.
func TestReplayMissesNoise(t *testing.T) {
	for _, c := range []struct {
		forgets bool
		exit    int
		want    string
	}{
		{false, 0, "Everything agrees: 4 decisions"},
		{true, 2, "chat.tg before session s-2 none"},
	} {
		s := newRecordedState(t)
		s.apply(planWith(tenPercent, tenPercent), nil)
		s.session("s-1", steadyBase, noisyGain)
		s.decide("s-1")
		s.forgets = c.forgets
		s.session("s-2", steadyBase[:4], clearGain[:4])
		s.decide("s-2")
		exit, out, errs := mxflow("audit", "replay", "--state", s.dir)
		if exit != c.exit || !strings.Contains(evenly(out), c.want) {
			t.Errorf("forgets %v: exit status %d, want %d with %q\n%s%s", c.forgets, exit, c.exit, c.want, out, errs)
		}
	}
}

// TestReplayMissesTries: a try that is recorded as the first had more of the chance of a
// false pass than was left, and does not agree.
func TestReplayMissesTries(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		s := newRecordedState(t)
		s.apply(planWith(tenPercent, tenPercent), nil)
		s.session("s-1", steadyBase, slower)
		s.decide("s-1")
		s.session("s-2", steadyBase, slower)
		s.tamper = func(d *ledger.Decision) {
			if forgets {
				d.Evidence[0].Try = 0
			}
		}
		s.decide("s-2")
		exit, out, errs := mxflow("audit", "replay", "--state", s.dir)
		if forgets != (exit == 2) || forgets != strings.Contains(evenly(out), "try of routed 1 2") {
			t.Errorf("forgets %v: exit status %d\n%s%s", forgets, exit, out, errs)
		}
	}
}

// TestReplayMissesFindings: what stands beside a verdict is found again, and nothing else.
func TestReplayMissesFindings(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	s.session("s-1", steadyBase, clearGain)
	s.tamper = func(d *ledger.Decision) {
		if d.Kind == ledger.KindFeature {
			d.Findings = append(d.Findings, verdict.New(code.GotWorse, verdict.Num("change", -0.3, "ratio"), verdict.Span("bounds", -0.4, -0.2, "ratio")).On("chat.made_up"))
		}
	}
	s.decide("s-1")
	exit, out, errs := mxflow("audit", "replay", "--state", s.dir)
	if exit != 2 || !strings.Contains(out, "chat.made_up") {
		t.Errorf("exit status %d\n%s%s", exit, out, errs)
	}
}

// TestReplayOfNoiseOfOneEngine: another engine's launches tell nothing of noise.
func TestReplayOfNoiseOfOneEngine(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	s.session("s-1", steadyBase, noisyGain)
	for i := range 8 {
		s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: fmt.Sprintf("s-x.%d", i), Session: "s-x", Purpose: ledger.ForBenchmark, Node: "feature.routed.benchmark", Variant: "other", VariantKey: "other",
			Work: "w", Ordinal: i + 1, Order: i + 1, Started: s.at, OK: true,
			Metrics: map[string]measure.Summary{"chat.tg": {Unit: "tok/s", Stats: map[string]float64{"median": 30 + float64(i%2)}}},
		}})
	}
	s.session("s-2", steadyBase[:4], clearGain[:4])
	s.decide("s-2")
	if exit, out, errs := mxflow("audit", "replay", "--state", s.dir); exit != 0 {
		t.Errorf("exit status %d\n%s%s", exit, out, errs)
	}
}

// TestReplayChangedSaysWhatItCannotCompare: sensitive variables are in no record, so that what was started may not be what the recorded plan says now.
func TestReplayChangedSaysWhatItCannotCompare(t *testing.T) {
	plan := strings.NewReplacer(
		"prompt_tokens = 64", "prompt_tokens = var.tokens",
		"engine \"embedded\"", "variable \"tokens\" {\n  type = number\n  default = 32\n}\nengine \"embedded\"",
	).Replace(planWith(tenPercent, tenPercent))
	s := newRecordedState(t)
	s.sealed = true
	s.apply(plan, map[string]string{"tokens": "64"})
	once(s)
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, given := range [][]string{nil, {"--var", "tokens=64"}} {
		_, out, errs := mxflow(append([]string{"audit", "replay", "--state", s.dir, "--plan", path}, given...)...)
		if said := strings.Contains(evenly(out), "without var.tokens, which no run records"); said != (given == nil) {
			t.Errorf("with %q: it says so: %v\n%s%s", given, said, out, errs)
		}
	}
}

// TestReplayChangedSaysWhatWasRetracted: launches that a person took back are still
// what another plan would have decided by, and no apply would let them pass.
func TestReplayChangedSaysWhatWasRetracted(t *testing.T) {
	plan := planWith(tenPercent, tenPercent)
	s := newRecordedState(t)
	s.apply(plan, nil)
	once(s)
	d, _, _ := s.st.Latest("feature.routed")
	s.append(&ledger.Record{Type: "decision", Decision: d.Withdraw(ledger.Retraction{Node: d.Node, Reason: "wrong prompts", By: "kim"})})
	path := filepath.Join(t.TempDir(), "changed.hcl")
	if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path)
	if want := "retracted by kim: wrong prompts: apply does not let these launches pass again"; !strings.Contains(evenly(out), want) {
		t.Errorf("%q is missing\n%s%s", want, out, errs)
	}
}

const tenPercent = "chat.tg.gain >= 0.10"

// once records one session of a clear gain and the decisions on it.
func once(s *recordedState) {
	s.session("s-1", steadyBase[:4], clearGain[:4])
	s.decide("s-1")
}

// gate changes the gate's decision alone.
func gate(change func(*ledger.Decision)) func(*ledger.Decision) {
	return func(d *ledger.Decision) {
		if d.Kind == "gate" {
			change(d)
		}
	}
}

func TestAuditReplay(t *testing.T) {
	withVariable := strings.Replace(planWith(tenPercent, "chat.tg.gain >= ${var.least}"), "engine \"embedded\"", "variable \"least\" {\n  type = number\n  default = 0.15\n}\nengine \"embedded\"", 1)
	required := strings.Replace(withVariable, "  default = 0.15\n", "", 1)
	tests := []struct {
		name   string
		plan   string
		vars   map[string]string
		tamper func(*ledger.Decision)
		record func(s *recordedState)
		// sealed variables are not on record.
		sealed bool
		breaks func(t *testing.T, s *recordedState)
		args   []string
		exit   int
		want   []string
	}{
		{name: "agrees", want: []string{"feature.routed", "phase.experts", "the recorded plan", "Everything agrees: 2 decisions with "}},
		{
			name: "those that others took the place of, and noise", want: []string{"Everything agrees: 6 decisions"},
			record: func(s *recordedState) {
				s.session("s-1", steadyBase, noisyGain)
				s.decide("s-1")
				s.session("s-2", steadyBase[:3], clearGain[:3])
				s.decide("s-2")
				s.session("s-3", steadyBase[:4], slower[:4])
				s.decide("s-3")
			},
		},
		{
			name: "a count in every launch", plan: planWith(tenPercent, "engine.crashes < 1"), want: []string{"phase.experts 1 fail fail agrees", "Everything agrees: 2 decisions"},
			record: func(s *recordedState) {
				s.crashes = map[string]float64{"s-1.routed.2": 1}
				once(s)
			},
		},
		{
			name: "one node by its short name", args: []string{"--node", "experts"}, want: []string{"Everything agrees: 1 decision with "},
		},
		{
			name: "verdict of a rule", exit: 2, want: []string{"differs", "decode is faster", "verdict", "fail", "1 decision did not come out as recorded"},
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Verdict, d.Verdict = verdict.Fail, verdict.Fail }),
		},
		{
			name: "verdict of the whole", exit: 2, want: []string{"decision", "verdict"},
			tamper: gate(func(d *ledger.Decision) { d.Verdict = verdict.Fail }),
		},
		{
			name: "the last bit of a number", exit: 2, want: []string{"comparisons[1].test.looks[1].p_pass"},
			tamper: gate(func(d *ledger.Decision) {
				p := &d.Rules[0].Comparisons[0].Test.Looks[0].PPass
				*p = math.Nextafter(*p, 1)
			}),
		},
		{
			name: "a threshold that was not the plan's", exit: 2, want: []string{"chat.tg.gain >= 0.05"},
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Expr = "chat.tg.gain >= 0.05" }),
		},
		{
			name: "a launch left out", exit: 2, want: []string{"differs"},
			tamper: gate(func(d *ledger.Decision) {
				d.Evidence[0].Candidate.Launches = d.Evidence[0].Candidate.Launches[:3]
			}),
		},
		{
			name: "noise that was not there", exit: 2, want: []string{"noise", "chat.tg before session s-1", "none"},
			tamper: func(d *ledger.Decision) {
				d.Evidence[0].Noise = map[string]verdict.Noise{"chat.tg": {SD: 0.001, DF: 9}}
			},
		},
		{
			name: "a launch that the ledger has not", exit: 4, want: []string{"evidence missing", "launch s-9.routed.1"},
			tamper: gate(func(d *ledger.Decision) { d.Evidence[0].Candidate.Launches[0] = "s-9.routed.1" }),
		},
		{
			name: "no raw data", exit: 4, want: []string{"evidence missing", "has no raw data to decide from"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				remove(t, artifactOf(t, s, l.Samples))
			},
		},
		{
			name: "damaged raw data", exit: 4, want: []string{"evidence missing"},
			breaks: func(t *testing.T, s *recordedState) {
				l, _ := s.st.LaunchByID("s-1.routed.2")
				if err := os.WriteFile(artifactOf(t, s, l.Samples), []byte("forged"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "raw data of the other arm", exit: 4, want: []string{"evidence missing", "the raw samples named by launch s-1.routed.1 are of another launch: launch is s-1.baseline.1, not s-1.routed.1"},
			record: func(s *recordedState) {
				s.exchanged = true
				once(s)
			},
		},
		{
			name: "damaged ledger", exit: 4, want: []string{"ledger"},
			breaks: func(t *testing.T, s *recordedState) {
				data, err := os.ReadFile(s.st.LedgerPath())
				if err != nil {
					t.Fatal(err)
				}
				data[len(data)/2] ^= 1
				if err := os.WriteFile(s.st.LedgerPath(), data, 0o644); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "no evidence", exit: 4, want: []string{"evidence missing", "its record does not hold what decided it", "2 decisions cannot be decided again"},
			tamper: func(d *ledger.Decision) { d.Evidence, d.Statistics = nil, nil },
		},
		{
			name: "decided without a rule", exit: 3, want: []string{"no rules", "there is nothing to decide again"},
			tamper: func(d *ledger.Decision) { d.Rules, d.Evidence = nil, nil },
		},
		{
			name: "nothing recorded", exit: 3, want: []string{"there is nothing to decide again"},
			record: func(*recordedState) {},
		},
		{
			name: "a variable of the command line", plan: withVariable, vars: map[string]string{"least": "0.10"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a sensitive variable", sealed: true, plan: withVariable, vars: map[string]string{"least": "0.10"},
			want: []string{"the decision's own text", "without var.least, which no run records", "Everything agrees: 2 decisions"},
		},
		{
			name: "a sensitive variable given again", sealed: true, plan: withVariable, vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a plan that cannot be compiled", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, exit: 3,
			want: []string{"tests agree", "Only the recorded tests were recomputed", "give them again with --var"},
		},
		{
			name: "a plan that can be compiled again", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, args: []string{"--var", "least=0.1"},
			want: []string{"the recorded plan", "Everything agrees: 2 decisions"},
		},
		{
			name: "a number in a plan that cannot be compiled", sealed: true, plan: required, vars: map[string]string{"least": "0.10"}, exit: 2,
			tamper: gate(func(d *ledger.Decision) { d.Rules[0].Comparisons[0].Test.Values[1] += 1e-9 }), want: []string{"chat.tg.median of launch s-1.routed.2"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.tamper, s.sealed = tt.tamper, tt.sealed
			if tt.plan == "" {
				tt.plan = planWith(tenPercent, tenPercent)
			}
			s.apply(tt.plan, tt.vars)
			if tt.record == nil {
				tt.record = once
			}
			tt.record(s)
			if tt.breaks != nil {
				tt.breaks(t, s)
			}
			exit, out, errs := mxflow(append([]string{"audit", "replay", "--state", s.dir}, tt.args...)...)
			all := out + errs
			if exit != tt.exit {
				t.Errorf("exit status %d, want %d", exit, tt.exit)
			}
			for _, want := range tt.want {
				if !strings.Contains(evenly(all), evenly(want)) {
					t.Errorf("%q is missing", want)
				}
			}
			if t.Failed() {
				t.Log(all)
			}
			as, doc, _ := mxflow(append([]string{"audit", "replay", "--json", "--state", s.dir}, tt.args...)...)
			var parsed again.Result
			if tt.name != "damaged ledger" && (json.Unmarshal([]byte(doc), &parsed) != nil || as != exit || parsed.Agrees != (exit == 0)) {
				t.Errorf("as JSON: %d %s", as, doc)
			}
		})
	}
}

// evenly is a text however it is broken into lines and columns.
func evenly(text string) string { return strings.Join(strings.Fields(text), " ") }

// artifactOf is the file of an artifact.
func artifactOf(t *testing.T, s *recordedState, sum string) string {
	t.Helper()
	found := ""
	err := filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && strings.Contains(strings.ReplaceAll(path, string(filepath.Separator), ""), sum) {
			found = path
		}
		return err
	})
	if err != nil || found == "" {
		t.Fatal("no artifact ", sum, err)
	}
	return found
}

// What a changed plan asks for besides what was measured, an apply would measure:
// nothing passes or fails by what there is.
func TestChangedPlanThatAsksForMore(t *testing.T) {
	same := planWith(tenPercent, tenPercent)
	change := func(pairs ...string) string {
		t.Helper()
		plan := same
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(plan, pairs[i]) {
				t.Fatalf("%q is not in the plan", pairs[i])
			}
			plan = strings.Replace(plan, pairs[i], pairs[i+1], 1)
		}
		return plan
	}
	const (
		smoke     = "  level \"smoke\" { expect = \"Paris\" }\n"
		kernels   = "  level \"kernels\" {}\n"
		gate      = "  gate {"
		benchmark = "  level \"benchmark\" {\n    workloads = [workload.chat]\n  }\n"
		sends     = "workloads = [workload.chat]"
		workload  = "workload \"chat\""
		long      = "workload \"long\" {\n  prompt_tokens = 128\n  output_tokens = 33\n}\n" + workload
		phase     = "phase \"experts\" {"
		knob      = "knob \"moe\""
		feature   = "  feature \"other\" {\n    set = { kv = \"on\" }\n    criterion \"faster\" {\n      rule = \"chat.tg.gain >= 0.10\"\n    }\n  }\n"
		kv        = "knob \"kv\" {\n  default = \"off\"\n  value \"off\" {\n    must_not_see { log = [\"*kv*\"] }\n  }\n  value \"on\" {\n    env = { KV = \"1\" }\n    must_see { log = [\"*kv*\"] }\n  }\n}\n" + knob
	)
	two := []string{"expr = \"chat.tg", "expr = \"feature[\\\"routed\\\"].chat.tg"}
	for _, tt := range []struct {
		name string
		// recorded is the plan that was applied, where that is not the usual one.
		recorded, plan string
		exit           int
		want           []string
		not            string
	}{
		{"the same", "", same, 0, []string{"would have passed"}, "never measured"},
		{"a workload more", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (workload long): apply would measure it"}, ""},
		{"a workload more, and a rule that fails", "", change(workload, long, sends, "workloads = [workload.chat, workload.long]", "gain >= 0.10", "gain >= 0.90"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, "pass fail"},
		{"another workload in its place", "", change(workload, long, sends, "workloads = [workload.long]", "chat.tg", "long.tg", "chat.tg", "long.tg"), 2, []string{"feature.routed pass invalid", "workload chat"}, ""},
		{"a workload less", change(workload, long, sends, "workloads = [workload.chat, workload.long]"), same, 2, []string{"feature.routed pass invalid", "something other than what was measured (workload long)"}, ""},
		{"a level before", change(smoke, ""), same, 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (level smoke of the baseline, level smoke of routed): apply would measure it"}, ""},
		{"a level before, read alone", change(smoke, "", tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), change(tenPercent, "levels.kernels == 'pass'", tenPercent, "levels.kernels == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive"}, ""},
		{"a benchmark after the levels", change(benchmark, "", tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), change(tenPercent, "levels.smoke == 'pass'", tenPercent, "levels.smoke == 'pass'"), 3, []string{"feature.routed pass inconclusive", "phase.experts pass inconclusive", "never measured (level benchmark of routed, workload chat)"}, ""},
		{"no level before", "", change(kernels, ""), 2, []string{"feature.routed pass invalid", "level kernels of routed"}, ""},
		{"levels the other way round", "", change(smoke+kernels, kernels+smoke), 2, []string{"the order of levels or workloads"}, ""},
		{"fewer launches", "", change(sends, sends+"\n    launches = 3"), 3, []string{"3 launches per arm: a verdict needs 4"}, "4 launches per arm,"},
		{"more launches", "", change(sends, sends+"\n    launches = 12"), 0, []string{"would have passed"}, ""},
		{"more launches than there are", "", change(sends, sends+"\n    launches = 12", "gain >= 0.10", "gain >= 0.205", "gain >= 0.10", "gain >= 0.205"), 3, []string{"phase.experts pass inconclusive", "more needed (up to 12)"}, ""},
		{"more launches for a feature that no gate reads", "", change("gain >= 0.10", "gain >= 0.205"), 0, []string{"feature.routed pass inconclusive", "What would have become of feature.routed is not known."}, ""},
		{"a criterion on what was recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"memory\" {\n      rule = \"engine.memory_gb <= 4\"\n    }"), 0, []string{"memory: pass"}, ""},
		{"a criterion on what was not recorded", "", change("feature \"routed\" {", "feature \"routed\" {\n    criterion \"start\" {\n      rule = \"engine.startup_s <= 60\"\n    }", "expr = \"chat.tg.gain >= 0.10", "expr = \"feature[\\\"routed\\\"].accepted"), 3, []string{"feature.routed pass inconclusive", "has no engine.startup_s"}, ""},
		{"a feature more, with its knob", "", change(append(two, knob, kv, phase, phase+"\n"+feature)...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass inconclusive", "never measured (knob kv = off)"}, ""},
		{"a feature more, whose knob changes nothing else", change(kernels, ""), change(append(two, knob, strings.Replace(kv, "must_not_see { log = [\"*kv*\"] }", "", 1), gate, feature+gate, kernels, "")...), 3, []string{"feature.other – inconclusive it was never measured", "feature.routed pass pass", "phase.experts pass pass", "Every gate of the changed plan would have passed, but no run measured feature.other, so an apply would measure first: inconclusive."}, "Not every gate"},
		{"a feature less", change(append(two, knob, kv, gate, feature+gate)...), same, 0, []string{"feature.routed pass pass", "phase.experts pass pass"}, "feature.other"},
		{"a phase by another name", "", change(phase, "phase \"moe\" {"), 0, []string{"phase.moe – pass"}, ""},
		{"a step more", "", change(phase, phase+"\n  step \"exec\" \"build\" {\n    command = [\"true\"]\n  }\n"), 3, []string{"phase.experts pass inconclusive step exec build was never run"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			if tt.recorded == "" {
				tt.recorded = same
			}
			s.apply(tt.recorded, nil)
			once(s)
			if said := s.replaysWith(t, tt.plan, tt.exit, tt.want); tt.not != "" && strings.Contains(said, tt.not) {
				t.Errorf("%q is said in %s", tt.not, said)
			}
		})
	}
}

// BenchmarkReplay decides 10,000 recorded gates again, over the launches of 20
// sessions, from the opening of the state directory on. It is to take less than
// 10 s.
func BenchmarkReplay(b *testing.B) {
	const gates, sessions = 10_000, 20
	s := newRecordedState(b)
	s.apply(planWith(tenPercent, "chat.tg.gain >= 0.10 and levels.kernels == 'pass' and chat.tg >= 30"), nil)
	for i := range sessions {
		id := fmt.Sprintf("s-%d", i+1)
		base, gain := append([]float64(nil), steadyBase...), append([]float64(nil), clearGain...)
		for j := range base {
			base[j] += 0.01 * float64(i)
			gain[j] -= 0.01 * float64(i)
		}
		s.session(id, base, gain)
		s.decide(id)
	}
	var recs []*ledger.Record
	for i := 0; len(recs) < gates; i++ {
		old := s.st.History("phase.experts")[i%sessions]
		d := *old.Decision
		d.Attempt = sessions + 1 + i
		recs = append(recs, &ledger.Record{Type: "decision", Time: s.at, Run: old.Run, Decision: &d})
	}
	if err := s.st.Append(recs...); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	before := cpuSeconds(b)
	for range b.N {
		st, err := store.OpenReadOnly(s.dir)
		if err != nil {
			b.Fatal(err)
		}
		r := replay.New(st, steps.Registry(), nil)
		for _, d := range r.Decisions() {
			if got := r.Decide(d); got.Outcome != replay.Agrees || got.Again != verdict.Pass {
				b.Fatalf("%+v", got)
			}
		}
		st.Close()
	}
	// On a machine that others use too, the time on the wall says little.
	b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
}

// cpuSeconds is the processor time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func TestAuditReplayWithChangedPlan(t *testing.T) {
	same := planWith(tenPercent, tenPercent)
	const behind = "\nphase \"next\" {\n  after = [phase.experts]\n  gate {\n    rule \"it is in\" {\n      expr = \"feature[\\\"routed\\\"].accepted\"\n    }\n  }\n}\n"
	tests := []struct {
		name, plan string
		exit       int
		want       []string
	}{
		{"the same", same, 0, []string{"phase.experts   pass      pass", "Every gate of the changed plan would have passed"}},
		{"less is asked for", planWith("chat.tg.gain >= 0.05", "chat.tg.gain >= -0.03"), 0, []string{"would have passed"}},
		{"more than there is", planWith(tenPercent, "chat.tg.gain >= 0.30"), 2, []string{"phase.experts   pass      fail"}},
		{"too few launches", planWith(tenPercent, "chat.tg.gain >= 0.205"), 3, []string{"inconclusive", "4 launches per arm made, more needed (up to 8)"}},
		{"a feature that fails", planWith("chat.tg.gain >= 0.30", `feature[\"routed\"].accepted`), 2, []string{"feature.routed  pass      fail", "phase.experts   pass      fail"}},
		{"what was not measured", planWith(tenPercent, "engine.startup_s <= 60"), 3, []string{"launch s-1.routed.1 has no engine.startup_s"}},
		{"stricter error rates", strings.Replace(same, "engine \"embedded\"", "decision {\n  launches = { min = 3, max = 4 }\n}\nengine \"embedded\"", 1), 0, nil},
		{"another workload", strings.Replace(same, "prompt_tokens = 64", "prompt_tokens = 65", 1), 2, []string{"invalid", "workload chat", "only apply can tell"}},
		{"another environment", strings.Replace(same, `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"invalid", "knob moe = routed"}},
		{"another level", strings.Replace(same, `expect = "Paris"`, `expect = "Rome"`, 1), 2, []string{"invalid", "level smoke of routed", "only apply can tell"}},
		{"another proof", strings.Replace(same, "*routed experts*", "*MXFP4 experts*", 1), 2, []string{"invalid", "knob moe = routed", "only apply can tell"}},
		{"another parent", strings.Replace(strings.Replace(same, `default = "all"`, `default = "dense"`, 1), "  value \"routed\"", "  value \"dense\" {\n    env = { MXFLOW_EMBEDDED_MOE = \"dense\" }\n    must_see { log = [\"*dense*\"] }\n  }\n  value \"routed\"", 1), 2, []string{"invalid", "baseline", "parent of routed"}},
		{"what it has nothing to do with", strings.Replace(same, `engine "embedded" "tiny" {}`, "engine \"embedded\" \"tiny\" {}\nengine \"embedded\" \"wide\" {}", 1), 0, nil},
		{"a level alone, of another start", strings.Replace(planWith("levels.smoke == 'pass'", "levels.smoke == 'pass'"), `MXFLOW_EMBEDDED_MOE = "routed"`, `MXFLOW_EMBEDDED_MOE = "dense"`, 1), 2, []string{"feature.routed  pass      invalid", "phase.experts   pass      invalid", "knob moe = routed"}},
		{"a phase behind one that fails", planWith(tenPercent, "chat.tg.gain >= 0.30") + behind, 2, []string{"phase.experts  pass  fail", "phase.next  –  locked  apply would not reach it: phase.experts would fail"}},
		{"what is locked counts for nothing", planWith("chat.tg.gain >= 0.30", "chat.tg.gain >= 0.205") + behind, 3, []string{"phase.experts  pass  inconclusive", "phase.next  –  locked  apply would not reach it: phase.experts would be inconclusive"}},
		{"a mistake", strings.Replace(same, "chat.tg.gain", "chat.tq.gain", 1), 1, []string{"Nothing was started"}},
		{"another plan", strings.Replace(same, `plan "port"`, `plan "other"`, 1), 1, []string{"give the changed plan the same name"}},
	}
	s := newRecordedState(t)
	s.apply(same, nil)
	once(s)
	before := contents(t, s.dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.replaysWith(t, tt.plan, tt.exit, tt.want)
		})
	}
	if after := contents(t, s.dir); after != before {
		t.Error("something was written")
	}
}

// What was measured is not known without the plan that it was measured by, so that
// nothing passes by another one either.
func TestChangedPlanBesideOneThatIsGone(t *testing.T) {
	const variable = "variable \"least\" {\n  type = number\n}\nengine \"embedded\""
	plan := strings.Replace(planWith(tenPercent, tenPercent), "engine \"embedded\"", variable, 1)
	recorded := strings.Replace(plan, "gain >= 0.10", "gain >= ${var.least}", 1)
	levels := planWith("levels.smoke == 'pass'", "levels.smoke == 'pass'")
	for _, tt := range []struct {
		name, plan string
		args       []string
		exit       int
		want       []string
	}{
		{"metrics", planWith(tenPercent, tenPercent), nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give var.least as it was then"}},
		{"levels", levels, nil, 3, []string{"feature.routed  pass      inconclusive", "phase.experts   pass      inconclusive", "give var.least as it was then"}},
		{"a fail", planWith("chat.tg.gain >= 0.30", tenPercent), nil, 3, []string{"feature.routed  pass      fail", "phase.experts   pass      inconclusive"}},
		{"the variable given again", plan, []string{"--var", "least=0.1"}, 0, []string{"Every gate of the changed plan would have passed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.sealed = true
			s.apply(recorded, map[string]string{"least": "0.10"})
			once(s)
			s.replaysWith(t, tt.plan, tt.exit, tt.want, tt.args...)
		})
	}
}

// A plan that was applied last, but stopped before it measured anything, is not what
// stands was measured by.
func TestChangedPlanThatWasBegun(t *testing.T) {
	measured := planWith(tenPercent, tenPercent)
	begun := strings.Replace(measured, "prompt_tokens = 64", "prompt_tokens = 65", 1)
	s := newRecordedState(t)
	s.apply(measured, nil)
	once(s)
	s.apply(begun, nil)
	for plan, want := range map[string]int{measured: 0, begun: 2} {
		path := filepath.Join(t.TempDir(), "changed.hcl")
		if err := os.WriteFile(path, []byte(plan), 0o644); err != nil {
			t.Fatal(err)
		}
		if exit, out, errs := mxflow("audit", "replay", "--state", s.dir, "--plan", path); exit != want {
			t.Errorf("exit status %d, want %d\n%s%s", exit, want, out, errs)
		}
	}
}

// contents are the names and bytes of all files in a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

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
			[]string{"feature.routed inconclusive inconclusive", "the outcome of feature routed is unknown"},
		},
		{
			"a step before", same, strings.Replace(same, "phase \"experts\" {", step, 1), clearGain, 3,
			[]string{"feature.routed pass locked apply would not reach it: phase.experts.step.exec.build would be inconclusive", "phase.experts pass inconclusive step exec build was never run"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRecordedState(t)
			s.apply(tt.recorded, nil)
			s.session("s-1", steadyBase, tt.candidate)
			s.decide("s-1")
			s.replaysWith(t, tt.plan, tt.exit, tt.want)
		})
	}
}
