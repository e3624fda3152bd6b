package session

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/replay"
)

// wordsPlan has all that reasons are made of: levels that fail, launches that break or
// are disturbed, metrics that are missing, a choice, a confirmation, claims, gates that
// fail, and phases that are locked, waived or wait for what is.
const wordsPlan = `
plan "words" {}
engine "embedded" "tiny" {}
engine "embedded" "wide" { settings = { threads = 2 } }
knob "a" {
  default = "off"
  value "off" {}
  value "on" { env = { A = "on" } }
  value "slow" { env = { A = "slow" } }
  value "ill" { env = { A = "ill" } }
  value "mute" { env = { A = "mute" } }
  value "dies" { env = { A = "dies" } }
  value "hangs" { env = { A = "hangs" } }
}
knob "size" {
  default = "none"
  value "none" {}
  value "small" { settings = { layers = 3 } }
  value "large" { settings = { layers = 4 } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "smoke" { expect = "42" }
  level "correctness" { answers = "unchecked" }
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "build" {
  step "exec" "good" { command = ["true"] }
}
phase "one" {
  after = [phase.build]
  feature "sized" {
    choose = { size = ["small", "large"] }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
    confirm { engine = engine.embedded.wide }
  }
  feature "slow" {
    set = { a = "slow" }
    hypothesis {
      metric  = "engine.memory_gb"
      expect  = "-10%"
      because = "somebody said so"
    }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  feature "ill" {
    set = { a = "ill" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  feature "mute" {
    set = { a = "mute" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  feature "dies" {
    set = { a = "dies" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  feature "hangs" {
    set = { a = "hangs" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  gate {
    rule "fast" { expr = "feature.slow.engine.memory_gb.gain >= 0.1" }
    rule "all" { expr = "feature.mute.engine.memory_gb.gain >= 0.1 and feature.ill.levels.smoke == 'pass'" }
  }
}
phase "two" {
  after = [phase.one]
  feature "top" {
    set       = { a = "on" }
    builds_on = accepted
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  feature "child" {
    set       = { a = "on" }
    builds_on = feature.sized
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
}
phase "three" {
  after_decided = [phase.one]
  step "exec" "bad" { command = ["false"] }
  feature "never" {
    set = { a = "on" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
}
phase "four" {
  after_decided = [phase.two]
  feature "last" {
    set = { a = "on" }
    criterion "c" { rule = "engine.memory_gb.gain >= 0.1" }
  }
  gate {
    rule "of others" { expr = "feature.top.engine.memory_gb.gain >= 0.1 and feature.last.accepted" }
  }
}
`

// story applies wordsPlan as the outcomes of launches and people make it, and keeps all
// that came of it.
type story struct {
	t     *testing.T
	lab   *Lab
	clock time.Time
	// words are what people and engines say.
	words string
	// lines are everything that was decided, foreseen and locked, as JSON.
	lines []string
	// keys are what of it names the decisions: keys, verdicts, attempts and locks.
	keys []string
	said []verdict.Reason
}

func tellStory(t *testing.T, words string) *story {
	t.Helper()
	s := &story{t: t, lab: labOf(t, wordsPlan), words: words, clock: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	var err error
	if s.lab.Store, err = store.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.lab.Store.Close() })
	source, err := s.lab.Store.Put([]byte(wordsPlan))
	if err != nil {
		t.Fatal(err)
	}
	s.append(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "words", PlanFile: "plan.hcl", PlanDigest: s.lab.Plan.Digest(), PlanSource: source, Goals: decide.Goals(s.lab.Plan)}})
	s.apply()
	s.waive("phase.one", 24*time.Hour)
	s.apply()
	s.retract("feature.sized")
	s.apply()
	s.clock = s.clock.Add(48 * time.Hour) // the waiver is over
	s.apply()
	s.replay()
	for _, r := range s.lab.Store.Records() {
		s.keep(r)
		if d := r.Decision; d != nil {
			s.said = append(s.said, append(d.Why(), d.Because)...)
			s.keys = append(s.keys, fmt.Sprint(d.Node, d.Attempt, d.Verdict, d.Accepted, d.MeasureKey, d.DecisionKey, d.Session, d.Launches))
		}
	}
	return s
}

// sentence is the text of a reason, which people alone read.
var sentence = regexp.MustCompile(`"(?:text|template)":"(?:[^"\\]|\\.)*",?`)

func (s *story) keep(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	s.lines = append(s.lines, sentence.ReplaceAllString(string(text), ""))
}

func (s *story) append(r *ledger.Record) {
	s.t.Helper()
	r.Run, r.Time = "r-1", s.clock
	if err := s.lab.Store.Append(r); err != nil {
		s.t.Fatal(err)
	}
}

// apply foresees and runs the whole graph.
func (s *story) apply() {
	s.t.Helper()
	s.lab.begun, s.lab.died = nil, nil
	r := &runtime.Runner{
		Plan: s.lab.Plan, Graph: s.lab.Graph, Journal: s.lab.Store.Journal(), Step: s.real, Run: "r-1",
		Now: func() time.Time { return s.clock },
	}
	foreseen, err := r.Reconcile()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range foreseen {
		s.keep([]any{p.Node.ID, p.Recorded, p.Why, p.If, p.Locked, p.Overruled, p.Launches, p.Notes})
		s.said = append(append(s.said, p.Notes...), p.Locked)
	}
	r.Step = s.step
	result, err := r.Execute(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, st := range result.States {
		s.keep([]any{st.Locked, st.Overruled, st.Recorded, st.Waiver})
		s.keys = append(s.keys, st.Node.ID+" "+st.Locked.Key()+st.Overruled.Key())
		s.said = append(s.said, st.Locked, st.Overruled)
	}
}

// real is the step of a node that measures or decides; the others rest on nothing.
func (s *story) real(n *runtime.Node) (runtime.Step, error) {
	if n.Kind == runtime.KindStep {
		return keyed{n}, nil
	}
	return s.lab.Step(n)
}

// step is the real one of what decides, and of what launches with its keys.
func (s *story) step(n *runtime.Node) (runtime.Step, error) {
	if n.Kind == runtime.KindStep {
		return acted{keyed{n}, func(*runtime.Scope) (*ledger.Decision, error) {
			if n.StepBlock.Name == "bad" {
				return &ledger.Decision{Verdict: verdict.Fail, Reasons: []verdict.Reason{fact(s.words)}}, nil
			}
			return &ledger.Decision{Verdict: verdict.Pass}, nil
		}}, nil
	}
	step, err := s.lab.Step(n)
	switch own := step.(type) {
	case *qualify:
		return acted{step, func(sc *runtime.Scope) (*ledger.Decision, error) { return s.qualify(own, sc) }}, err
	case *benchmark:
		return acted{step, func(sc *runtime.Scope) (*ledger.Decision, error) { return s.benchmark(own, sc) }}, err
	}
	return step, err
}

// keyed is a step that rests on nothing but its name.
type keyed struct{ node *runtime.Node }

func (k keyed) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	out := &runtime.Derived{Key: k.node.ID}
	out.Outcome, out.Why = s.Recorded(out.Key, verdict.Reason{})
	return out, nil
}

func (k keyed) Do(context.Context, *runtime.Scope) (*ledger.Decision, error) {
	return nil, fmt.Errorf("%s is not acted", k.node.ID)
}

// acted is a step of which what it starts is acted.
type acted struct {
	runtime.Step
	run func(*runtime.Scope) (*ledger.Decision, error)
}

func (a acted) Do(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) { return a.run(s) }

func (s *story) qualify(q *qualify, sc *runtime.Scope) (*ledger.Decision, error) {
	sub, err := q.subject(sc)
	if err != nil {
		return nil, err
	}
	own := sub.variant()
	out := &ledger.Decision{Verdict: verdict.Pass, Variant: own.Knobs, Levels: []ledger.Level{{Name: "smoke", Verdict: verdict.Pass}}}
	if own.Knobs["a"] == "ill" {
		out.Levels[0] = ledger.Level{Name: "smoke", Verdict: verdict.Fail, Reasons: []verdict.Reason{fact(s.words)}}
		out.Verdict, out.Reasons = verdict.Fail, []verdict.Reason{out.Levels[0].Reason()}
	}
	return out, nil
}

func (s *story) benchmark(b *benchmark, sc *runtime.Scope) (*ledger.Decision, error) {
	run, own, fresh, err := b.session(sc)
	if err != nil {
		return nil, err
	}
	if fresh {
		b.lab.begun = append(b.lab.begun, run.id)
	}
	run.launch = func(_ context.Context, sl slot, tries []*ledger.Launch) (*ledger.Launch, error) {
		l := s.launch(run, sl, len(tries))
		s.append(&ledger.Record{Type: "launch", Launch: l})
		return l, nil
	}
	if err := run.run(s.t.Context()); err != nil {
		return nil, err
	}
	level := ledger.Level{Name: plans.BenchmarkLevel}
	out := &ledger.Decision{Variant: own.Arms.Candidate.Knobs}
	if err := run.conclude(s.t.Context(), own, out, &level); err != nil {
		return nil, err
	}
	out.Levels = []ledger.Level{level}
	out.Verdict, out.Reasons = level.Verdict, level.Reasons
	return out, nil
}

func (s *story) launch(run *session, sl slot, tries int) *ledger.Launch {
	v := sl.variant
	gb := map[string]float64{"none": 16, "small": 12, "large": 10}[v.Knobs["size"]]
	if v.Knobs["a"] == "on" {
		gb /= 1.4
	}
	memory := measure.Summary{
		Unit: "GB", Better: measure.Lower, N: 1, Requests: 1, Stats: map[string]float64{"median": gb * (1 + 0.001*float64(sl.ordinal%3))},
	}
	l := &ledger.Launch{
		ID: launchID(run.id, sl, tries), Session: run.id, Purpose: ledger.ForBenchmark, VariantKey: v.Key, Variant: v.Name, Block: v.Engine, Knobs: v.Knobs,
		Ordinal: sl.ordinal, Order: sl.order, OK: true, Work: run.work, Started: s.clock.Add(time.Duration(sl.order) * time.Minute),
		Fingerprint: map[string]string{"cpu": "one"},
		// Which comes from no samples, so it can be decided again.
		Metrics: map[string]measure.Summary{"engine.memory_gb": memory, "host.memory_gb": memory},
	}
	exit := 139
	switch {
	case v.Knobs["a"] == "mute":
		l.Metrics = nil
	case v.Knobs["a"] == "dies":
		l.OK, l.Error, l.Exit, l.LogTail = false, fact(s.words), &exit, []string{"segmentation fault"}
	case v.Knobs["a"] == "hangs":
		l.OK, l.Error = false, fact(s.words)
	case v.Knobs["size"] == "large" && sl.ordinal == 2 && tries == 0:
		l.Invalid, l.Disturbed = []verdict.Reason{fact(s.words)}, true
	}
	return l
}

func (s *story) waive(node string, lasts time.Duration) {
	s.t.Helper()
	d, _, ok := s.lab.Store.Latest(node)
	if !ok || d.Verdict.Unlocks() {
		s.t.Fatalf("there is nothing to waive: %+v", d)
	}
	s.append(&ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{
		Node: node, Attempt: d.Attempt, Verdict: d.Verdict,
		Reason: s.words, By: "kim", Expires: s.clock.Add(lasts),
	}})
}

func (s *story) retract(node string) {
	s.t.Helper()
	d, _, ok := s.lab.Store.Latest(node)
	if !ok || d.Verdict != verdict.Pass {
		s.t.Fatalf("there is nothing to retract: %+v", d)
	}
	s.append(&ledger.Record{Type: "decision", Decision: d.Withdraw(ledger.Retraction{Node: node, Attempt: d.Attempt, Verdict: d.Verdict, Accepted: d.Accepted, Reason: s.words, By: "kim"})})
}

// replay decides everything again.
func (s *story) replay() {
	r := replay.New(s.lab.Store, registry(), nil)
	for _, d := range r.Decisions() {
		again := r.Decide(d)
		again.Record = 0 // steps that decide end in any order
		s.keep(again)
		s.keys = append(s.keys, fmt.Sprint(again.Node, again.Attempt, again.Outcome, again.Verdict))
		s.said = append(append(s.said, again.Why), again.Notes...)
	}
}

// TestWordsBearOnNothing: where the renderer says everything in other words, no digest,
// key, verdict, lock or record moves; and where people and engines say what they say in
// other words, no digest, key, verdict or lock does.
func TestWordsBearOnNothing(t *testing.T) {
	plain := tellStory(t, "as it was said")
	lines := verdict.Lines(plain.said)

	restore := verdict.Swap(func(c code.Kind, _ string) string { return fmt.Sprintf("%x other words", string(c)) })
	defer restore()
	other := tellStory(t, "as it was said")
	same(t, "in other words", plain.lines, other.lines)
	for _, line := range verdict.Lines(other.said) {
		if line != "" && slices.Contains(lines, line) {
			t.Fatalf("the words are the same: %q", line)
		}
	}
	restore()

	said := tellStory(t, "otherwise: phase.one is pass; waived by nobody")
	same(t, "where people say it otherwise", plain.keys, said.keys)
	if slices.Equal(slices.Sorted(slices.Values(plain.lines)), slices.Sorted(slices.Values(said.lines))) {
		t.Error("what people say is on no record")
	}

	// The story has what it is to show.
	for _, c := range []code.Kind{
		code.Rule.Kind, code.Level.Kind, code.Missing.Kind, "session.launch_lost", code.CrashedAgain.Kind, code.LaunchReplaced.Kind, code.LaunchesPerArm.Kind, "session.not_measured", "choice.wins", code.Confirmed.Kind,
		"waiver.covers", "waiver.expired", "retraction", "retraction.below", "step.alone", code.Outcome.Kind,
		"first", "evidence_changed",
	} {
		if !verdict.Holds(plain.said, c) {
			t.Errorf("nothing in it is %s", c)
		}
	}
}

func same(t *testing.T, when string, a, b []string) {
	t.Helper()
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	for _, line := range a {
		if !slices.Contains(b, line) {
			t.Errorf("%s there is no more\n%s", when, line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			t.Errorf("%s there is\n%s", when, line)
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s there are %d lines and not %d", when, len(b), len(a))
	}
}
