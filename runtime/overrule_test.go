package runtime

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// inPhase makes a node of a phase.
func inPhase(phase string, n *Node) *Node {
	n.Phase = phase
	return n
}

// waiverOf is a waiver of the newest decision about a gate, for an hour.
func waiverOf(m *memory, gate string) *ledger.Waiver {
	d := m.Latest(gate)
	return &ledger.Waiver{Node: gate, Attempt: d.Attempt, Verdict: d.Verdict, Reason: "known", By: "kim", Expires: noon.Add(time.Hour)}
}

// TestWaiverUnlocks: a waiver of the decision as it stands unlocks what comes
// after the gate until it expires, and the verdict of the gate stays what it is.
func TestWaiverUnlocks(t *testing.T) {
	g := graphOf(
		t, inPhase("a", node("phase.a", KindGate)),
		inPhase("b", node("phase.b", KindPhase, Need{"phase.a", Passed})),
		inPhase("c", node("phase.c", KindPhase, Need{"phase.a", Decided})),
	)
	for name, c := range map[string]struct {
		verdict  verdict.Verdict
		change   func(*ledger.Waiver)
		at       time.Time
		unlocks  bool
		overall  verdict.Verdict
		overrule code.Kind
	}{
		"fail":          {verdict.Fail, nil, noon, true, verdict.Waived, "waiver.covers"},
		"inconclusive":  {verdict.Inconclusive, nil, noon, true, verdict.Waived, "waiver.covers"},
		"expired":       {verdict.Fail, nil, noon.Add(time.Hour), false, verdict.Fail, "waiver.expired"},
		"revoked":       {verdict.Fail, func(w *ledger.Waiver) { w.Revoked = true }, noon, false, verdict.Fail, "waiver.revoked"},
		"other attempt": {verdict.Fail, func(w *ledger.Waiver) { w.Attempt = 7 }, noon, false, verdict.Fail, "waiver.of_earlier"},
		"pass":          {verdict.Pass, nil, noon, true, verdict.Pass, ""},
	} {
		v := &verdicts{of: map[string]verdict.Verdict{"phase.a": c.verdict}}
		m := newMemory()
		r := runnerOf(g, m, v.step)
		now := noon.Add(-time.Hour)
		r.Now = func() time.Time { return now }
		execute(t, r)
		w := waiverOf(m, "phase.a")
		if c.change != nil {
			c.change(w)
		}
		m.waivers = map[string]*ledger.Waiver{"phase.a": w}
		now = c.at
		preview := must.Get(r.Reconcile())(t)
		res := execute(t, r)
		wantVerdict(t, res, "phase.a", c.verdict)
		must.Equal(t, fmt.Sprint(name, " ", res.Locked["phase.b"]), res.Outcomes["phase.b"] != nil, c.unlocks)
		// What waits for a decision needs a waiver only where there is none.
		if got := res.Outcomes["phase.c"] != nil; got != (c.unlocks || c.verdict == verdict.Fail) {
			t.Errorf("%s: phase.c ran is %v", name, got)
		}
		overruled := res.Overruled["phase.a"]
		var locked verdict.Reason
		if !c.unlocks {
			locked = verdict.New(code.Outcome).On("phase.a").Is(c.verdict).From(overruled)
		}
		if got := res.Locked["phase.b"]; !got.Equal(locked) {
			t.Errorf("%s: phase.b is locked because %+v, want %+v", name, got, locked)
		}
		if got := preview[1].Locked; !got.Equal(locked) {
			t.Errorf("%s: the preview locks phase.b because %+v, the run because %+v", name, got, locked)
		}
		if overruled.Kind != c.overrule || c.overrule != "" && overruled.Values["by"].Text != "kim" || !overruled.Equal(preview[0].Overruled) {
			t.Errorf("%s: said is %+v, want %q; the preview says %+v", name, overruled, c.overrule, preview[0].Overruled)
		}
		s := Summarise(res.Result)
		if s.Verdict != c.overall || s.Rows[0].Decision.Verdict != c.verdict || (s.Rows[0].Waiver != nil) != (c.overall == verdict.Waived) {
			t.Errorf("%s: the run is %s, the row %+v", name, s.Verdict, s.Rows[0])
		}
	}
}

// TestWaiverOfOthers: only what ends a phase can be waived, whatever the journal holds, and an error by nobody.
func TestWaiverOfOthers(t *testing.T) {
	for _, kind := range []Kind{KindQualify, KindBenchmark, KindFeature, KindStep, KindCriteria} {
		g := graphOf(t, node("a", kind), node("b", KindPhase, Need{"a", Passed}))
		m := newMemory()
		v := &verdicts{of: map[string]verdict.Verdict{"a": verdict.Fail}}
		r := runnerOf(g, m, v.step)
		r.Now = func() time.Time { return noon }
		execute(t, r)
		m.waivers = map[string]*ledger.Waiver{"a": waiverOf(m, "a")}
		if res := execute(t, r); res.Outcomes["b"] != nil || len(res.Waived) > 0 {
			t.Errorf("the waiver of a %s unlocks", kind)
		}
	}
}

// TestWaivedIsNotTriedAgain: what broke below a waived gate stays as it is, which
// would otherwise be another decision of the gate; a person may still ask for it.
func TestWaivedIsNotTriedAgain(t *testing.T) {
	g := graphOf(
		t, inPhase("a", node("step", KindStep)), inPhase("a", node("bench", KindBenchmark)),
		inPhase("b", node("other", KindStep)),
		inPhase("a", node("phase.a", KindPhase, Need{"step", Settled}, Need{"bench", Settled})),
	)
	v := &verdicts{of: map[string]verdict.Verdict{"step": verdict.Fail, "bench": verdict.Invalid, "other": verdict.Fail, "phase.a": verdict.Invalid}}
	m := newMemory()
	r := runnerOf(g, m, v.step)
	now := noon
	r.Now = func() time.Time { return now }
	execute(t, r)
	m.waivers = map[string]*ledger.Waiver{"phase.a": waiverOf(m, "phase.a")}
	v.started = nil
	execute(t, r)
	must.Equal(t, "started", strings.Join(v.started, " "), "other")
	v.started = nil
	r.Rerun = func(n *Node) bool { return n.ID == "bench" }
	execute(t, r)
	if got := strings.Join(v.started, " "); got != "bench other" && got != "other bench" {
		t.Errorf("started %q, want what a person asked for", got)
	}
	r.Rerun, now, v.started = nil, noon.Add(2*time.Hour), nil
	execute(t, r)
	if len(v.started) != 3 {
		t.Errorf("started %q after the waiver expired, want all three", v.started)
	}
}

// resting is a step that passes.
func resting(started *[]string, launches map[string][]string) func(*Node) (Step, error) {
	mu := new(sync.Mutex)
	return func(n *Node) (Step, error) { return restingStep{n, mu, started, launches}, nil }
}

type restingStep struct {
	node     *Node
	mu       *sync.Mutex
	started  *[]string
	launches map[string][]string
}

func (r restingStep) Derive(s *Scope) (*Derived, error) {
	out := &Derived{Key: "m " + r.node.ID}
	if DecidesAlone(r.node.Kind) {
		out.Key = s.Key
		out.Outcome = &ledger.Decision{Verdict: verdict.Pass, Accepted: r.node.Kind == KindFeature, Launches: r.launches[r.node.ID]}
		return out, nil
	}
	out.Outcome, out.Why = s.Recorded(out.Key, verdict.Reason{})
	return out, nil
}

func (r restingStep) Do(context.Context, *Scope) (*ledger.Decision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.started = append(*r.started, r.node.ID)
	return &ledger.Decision{Verdict: verdict.Pass, Launches: r.launches[r.node.ID]}, nil
}

// ports are two phases: one feature, and a step and a feature on top of it.
func ports(t *testing.T) *Graph {
	t.Helper()
	on := plans.BuildsOn{Kind: plans.OnAccepted}
	g, err := NewGraph(&plans.Plan{
		Baseline:  &plans.Baseline{},
		Protocols: []*plans.Protocol{{Name: "p", Levels: []*plans.Block{{Kind: "benchmark"}}}},
		Phases: []*plans.Phase{
			{Name: "a", Gate: &plans.Gate{}, Features: []*plans.Feature{{Name: "one", Phase: "a", Protocol: "p"}}},
			{
				Name: "b", After: []string{"a"}, Steps: []*plans.Block{{Kind: "exec", Name: "tag"}},
				Features: []*plans.Feature{{Name: "two", Phase: "b", Protocol: "p", BuildsOn: on}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// retract withdraws a node as the command does: the node, and of what rests on it all that only decides.
func retract(t *testing.T, g *Graph, m *memory, id string) (withdrawn []string) {
	t.Helper()
	r := ledger.Retraction{Node: id, Reason: "wrong prompts", By: "kim"}
	records := []*ledger.Record{{Decision: m.Latest(id).Withdraw(r)}}
	for _, n := range g.Dependents(id, m.Latest) {
		if DecidesAlone(n.Kind) {
			records = append(records, &ledger.Record{Decision: m.Latest(n.ID).Withdraw(r)})
			withdrawn = append(withdrawn, n.ID)
		}
	}
	must.Do(t, m.Append(records...))
	return withdrawn
}

// rested is what a first run of steps that pass left: its journal, the runner, and what the next run starts.
func rested(t *testing.T, g *Graph, launches map[string][]string) (*memory, *Runner, *[]string) {
	t.Helper()
	m, started := newMemory(), new([]string)
	r := runnerOf(g, m, resting(started, launches))
	r.Now = func() time.Time { return noon }
	execute(t, r)
	*started = nil
	return m, r, started
}

// TestRetract: whichever node is retracted, the next run decides nothing that rests on it, measures nothing, and does
// not end well; a person who asks for the node gets it all back without other measurements.
func TestRetract(t *testing.T) {
	g := ports(t)
	for _, c := range []struct{ node, withdrawn, measured string }{
		{"baseline", "feature.one phase.a feature.two phase.b", "baseline"},
		{"feature.one.qualify", "feature.one phase.a feature.two phase.b", "feature.one.qualify"},
		{"feature.one.benchmark", "feature.one phase.a feature.two phase.b", "feature.one.benchmark"},
		{"feature.one", "phase.a feature.two phase.b", ""},
		{"phase.a", "feature.two phase.b", ""},
		{"phase.b.step.exec.tag", "feature.two phase.b", "phase.b.step.exec.tag"},
		{"feature.two", "phase.b", ""},
		{"phase.b", "", ""},
	} {
		m, r, started := rested(t, g, nil)
		must.Equal(t, c.node, strings.Join(retract(t, g, m, c.node), " "), c.withdrawn)
		for round := range 2 {
			*started = nil
			res := execute(t, r)
			if len(*started) > 0 {
				t.Errorf("%s: run %d started %q", c.node, round, *started)
			}
			must.Equal(t, fmt.Sprint(c.node, " ", round), Summarise(res.Result).Verdict, verdict.Invalid)
			for _, id := range append(strings.Fields(c.withdrawn), c.node) {
				if d := res.Outcomes[id]; d != nil && d.Verdict.Unlocks() {
					t.Errorf("%s: run %d: %s is %s", c.node, round, id, d.Verdict)
				}
			}
		}
		r.Rerun = func(n *Node) bool { return n.ID == c.node }
		*started = nil
		res := execute(t, r)
		must.Equal(t, fmt.Sprint(c.node, " ", res.Locked), Summarise(res.Result).Verdict, verdict.Pass)
		var measured []string
		for _, id := range *started {
			if !DecidesAlone(g.Node(id).Kind) {
				measured = append(measured, id)
			}
		}
		must.Equal(t, c.node, strings.Join(measured, " "), c.measured)
		if d := m.Latest(c.node); d.Attempt != 3 || d.Retraction != nil {
			t.Errorf("%s: attempt %d, retraction %v: attempts must count on", c.node, d.Attempt, d.Retraction)
		}
	}
}

// TestRetractWithinPhase: on which features rest that were built on one, in the same phase too, and on which they do
// not; whether or not anything but the feature itself was recorded as withdrawn.
func TestRetractWithinPhase(t *testing.T) {
	p := planOf(feature("one"), feature("beside"), feature("above", on("one")), feature("stacked", onAccepted))
	p.Phases[0].Gate = &plans.Gate{}
	g := must.Get(NewGraph(p))(t)
	for _, alone := range []bool{false, true} {
		m, r, started := rested(t, g, nil)
		if alone {
			_ = m.Append(&ledger.Record{Decision: m.Latest("feature.one").Withdraw(ledger.Retraction{Node: "feature.one", Reason: "wrong prompts", By: "kim"})})
		} else if got := strings.Join(retract(t, g, m, "feature.one"), " "); got != "feature.above feature.stacked phase.a" {
			t.Errorf("withdrawn are %q", got)
		}
		preview := must.Get(r.Reconcile())(t)
		res := execute(t, r)
		if len(*started) > 0 {
			t.Errorf("alone %v: started %q", alone, *started)
		}
		wantVerdict(t, res, "feature.beside", verdict.Pass)
		wantVerdict(t, res, "phase.a", verdict.Invalid)
		if d := m.Latest("phase.a"); !d.Withdrawn() || d.Retraction.Verdict != verdict.Pass || d.Reasons[0].Kind != "retraction.below" || d.Reasons[0].Subject != "feature.one" || d.Reasons[0].Values["by"].Text != "kim" {
			t.Errorf("alone %v: phase.a is %+v", alone, d)
		}
		for _, id := range []string{"feature.above", "feature.above.benchmark", "feature.stacked", "feature.stacked.qualify"} {
			if got := res.Locked[id]; !got.Equal(byKim) {
				t.Errorf("alone %v: %s is locked because %+v", alone, id, got)
			}
		}
		for _, p := range preview {
			if !p.Locked.Equal(res.Locked[p.Node.ID]) || p.HasWork() {
				t.Errorf("alone %v: the preview of %s is %+v", alone, p.Node.ID, p.Locked)
			}
		}
	}
}

// byKim locks what was measured with a feature that a person retracted.
var byKim = verdict.Say("retraction.node", "{subject} was retracted by {by}{causes? ({causes})}",
	verdict.Text("by", "kim")).On("feature.one")

// TestWaivedGateOfRetracted: a waiver of the gate lets what waits for the gate go on,
// and not a feature that was measured on what was retracted.
func TestWaivedGateOfRetracted(t *testing.T) {
	g := ports(t)
	m, r, _ := rested(t, g, nil)
	retract(t, g, m, "feature.one")
	m.waivers = map[string]*ledger.Waiver{"phase.a": waiverOf(m, "phase.a")}
	res := execute(t, r)
	if why, locked := res.Locked["phase.b.step.exec.tag"]; locked {
		t.Errorf("the step behind the waived gate is locked: %+v", why)
	}
	for _, id := range []string{"feature.two.qualify", "feature.two.benchmark", "feature.two"} {
		if got := res.Locked[id]; !got.Equal(byKim) {
			t.Errorf("%s is locked because %+v", id, got)
		}
	}
	// The gate alone: the second phase builds on what its feature accepted.
	m, r, _ = rested(t, g, nil)
	retract(t, g, m, "phase.a")
	m.waivers = map[string]*ledger.Waiver{"phase.a": waiverOf(m, "phase.a")}
	res = execute(t, r)
	wantVerdict(t, res, "phase.a", verdict.Invalid)
	wantVerdict(t, res, "phase.b", verdict.Pass)
	must.Equal(t, "the run is", Summarise(res.Result).Verdict, verdict.Waived)
}

// TestRetractedRejection: what was measured without a feature that was rejected does not rest on it.
func TestRetractedRejection(t *testing.T) {
	g := ports(t)
	m := newMemory()
	for _, n := range g.Nodes {
		d := &ledger.Decision{Node: n.ID, Kind: string(n.Kind), Attempt: 1, Verdict: verdict.Pass}
		if n.ID == "feature.one" {
			d.Verdict = verdict.Fail
		}
		_ = m.Append(&ledger.Record{Decision: d})
	}
	// phase.a rests on it, and by that what comes after; without it nothing would.
	g.Node("feature.two").Needs = []Need{{"feature.one", Settled}}
	for _, n := range g.Dependents("feature.one", m.Latest) {
		if n.ID == "feature.two" {
			t.Error("feature.two rests on a feature that was not under it")
		}
	}
}

// TestRetractedStays: launches that were retracted do not pass again because
// something else about them changed, others do, and who asks for them gets them.
func TestRetractedStays(t *testing.T) {
	type round struct {
		launches []string
		rerun    string
		want     verdict.Verdict
	}
	old := []string{"l1", "l2"}
	for name, rounds := range map[string][]round{
		"the same launches":        {{[]string{"l2", "l1"}, "bench", verdict.Invalid}},
		"other launches":           {{[]string{"l1", "l3"}, "bench", verdict.Pass}},
		"qualified anew":           {{[]string{"q-2", "l1", "l2"}, "bench", verdict.Invalid}},
		"others, and back":         {{[]string{"l3", "l4"}, "bench", verdict.Pass}, {old, "bench", verdict.Invalid}, {old, "bench", verdict.Invalid}},
		"asked for":                {{old, "feature.f", verdict.Pass}},
		"asked for, and once more": {{old, "feature.f", verdict.Pass}, {old, "bench", verdict.Pass}},
	} {
		g := graphOf(t, node("bench", KindBenchmark), node("feature.f", KindFeature, Need{"bench", Settled}))
		launches := map[string][]string{"feature.f": append([]string{"q-1"}, old...), "bench": old}
		m, r, started := rested(t, g, launches)
		retract(t, g, m, "feature.f")
		for i, c := range rounds {
			launches["feature.f"], launches["bench"] = c.launches, c.launches
			// The benchmark asked for is another attempt, and so other evidence.
			r.Rerun = func(n *Node) bool { return n.ID == c.rerun }
			res := execute(t, r)
			if d := res.Outcomes["feature.f"]; d.Verdict != c.want || d.Retracted() != (c.want == verdict.Invalid) {
				t.Errorf("%s, round %d: %+v", name, i, d)
			}
			r.Rerun, *started = nil, nil
			if execute(t, r); len(*started) > 0 {
				t.Errorf("%s, round %d: started %q again", name, i, *started)
			}
		}
		// What the runner makes is what the ledger takes.
		l := must.Get(ledger.Open(t.TempDir()+"/ledger", nil))(t)
		for _, d := range m.all {
			must.Equal(t, name, l.Append(&ledger.Record{Type: "decision", Time: noon, Run: "r1", Decision: d}), nil)
		}
		l.Close()
	}
}

// TestRetractedCandidateStays: of a feature that chooses, one alternative may be
// measured anew; the other, by which it was chosen, does not pass by old launches.
func TestRetractedCandidateStays(t *testing.T) {
	was := &ledger.Decision{
		Node: "feature.f", Kind: string(KindFeature), Feature: "f", Attempt: 1, Verdict: verdict.Pass, Session: "s-1",
		Launches: []string{"q-1", "s-1.base.1", "s-1.a.1", "s-1.b.1"},
	}
	history := []*ledger.Decision{was, was.Withdraw(ledger.Retraction{Node: was.Node, Reason: "wrong", By: "kim"})}
	now := func(launches []string, candidate ...string) *ledger.Decision {
		return &ledger.Decision{
			Node: was.Node, Feature: "f", Verdict: verdict.Pass, Launches: launches,
			Evidence: []ledger.Evidence{{Feature: "f", Candidate: ledger.Arm{Launches: candidate}}, {Feature: "a", Candidate: ledger.Arm{Launches: []string{"s-1.a.1"}}}},
		}
	}
	for _, c := range []struct {
		name  string
		d     *ledger.Decision
		stays bool
	}{
		{"b anew, a chosen", now([]string{"q-1", "s-1.base.1", "s-1.a.1", "s-2.b.1"}, "s-1.a.1"), true},
		{"b anew, and chosen", now([]string{"q-1", "s-1.base.1", "s-1.a.1", "s-2.b.1"}, "s-2.b.1"), false},
		{"a with one more", now([]string{"s-1.base.1", "s-1.base.2", "s-1.a.1", "s-1.a.2"}, "s-1.a.1", "s-1.a.2"), true},
		{"all anew", now([]string{"s-2.base.1", "s-2.a.1", "s-2.b.1"}, "s-2.a.1"), false},
	} {
		m := newMemory()
		for _, d := range history {
			_ = m.Append(&ledger.Record{Decision: d})
		}
		w := &walk{Runner: &Runner{Journal: m, Graph: &Graph{}}}
		got := w.overrule(&Scope{Node: &Node{ID: was.Node, Kind: KindFeature, Feature: "f"}, Previous: history[1], Key: "other", w: w}, c.d)
		if got.Retracted() != c.stays || (got.Verdict == verdict.Invalid) != c.stays {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
