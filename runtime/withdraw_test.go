package runtime

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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

// retract withdraws a node as the command does: the node, and of what rests on it
// all that only decides.
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

// rested is what a first run of steps that pass left: its journal, the runner, and what the
// next run starts.
func rested(t *testing.T, g *Graph, launches map[string][]string) (*memory, *Runner, *[]string) {
	t.Helper()
	m, started := newMemory(), new([]string)
	r := runnerOf(g, m, resting(started, launches))
	r.Now = func() time.Time { return noon }
	execute(t, r)
	*started = nil
	return m, r, started
}

// TestRetract: whichever node is retracted, the next run decides nothing that
// rests on it, measures nothing, and does not end well; a person who asks for the
// node gets it all back without other measurements.
func TestRetract(t *testing.T) {
	g := ports(t)
	for _, c := range []struct {
		node      string
		withdrawn string
		measured  string
	}{
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
		if got := strings.Join(retract(t, g, m, c.node), " "); got != c.withdrawn {
			t.Errorf("%s: withdrawn with it are %q, want %q", c.node, got, c.withdrawn)
		}
		for round := range 2 {
			*started = nil
			res := execute(t, r)
			if len(*started) > 0 {
				t.Errorf("%s: run %d started %q", c.node, round, *started)
			}
			if v := Summarise(res.Result).Verdict; v != verdict.Invalid {
				t.Errorf("%s: run %d is %s, want invalid", c.node, round, v)
			}
			for _, id := range append(strings.Fields(c.withdrawn), c.node) {
				if d := res.Outcomes[id]; d != nil && d.Verdict.Unlocks() {
					t.Errorf("%s: run %d: %s is %s", c.node, round, id, d.Verdict)
				}
			}
		}
		r.Rerun = func(n *Node) bool { return n.ID == c.node }
		*started = nil
		res := execute(t, r)
		if v := Summarise(res.Result).Verdict; v != verdict.Pass {
			t.Errorf("%s: asked for again, the run is %s (%v)", c.node, v, res.Locked)
		}
		var measured []string
		for _, id := range *started {
			if !DecidesAlone(g.Node(id).Kind) {
				measured = append(measured, id)
			}
		}
		if got := strings.Join(measured, " "); got != c.measured {
			t.Errorf("%s: asked for again, measured are %q, want %q", c.node, got, c.measured)
		}
		if d := m.Latest(c.node); d.Attempt != 3 || d.Retraction != nil {
			t.Errorf("%s: attempt %d, retraction %v: attempts must count on", c.node, d.Attempt, d.Retraction)
		}
	}
}

// TestRetractWithinPhase: on which features rest that were built on one, in the
// same phase too, and on which they do not; whether or not anything but the
// feature itself was recorded as withdrawn.
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
	if v := Summarise(res.Result).Verdict; v != verdict.Waived {
		t.Errorf("the run is %s", v)
	}
}

// TestRetractedRejection: what was measured without a feature that was rejected
// does not rest on it.
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
		"more launches":            {{[]string{"l1", "l2", "l3"}, "bench", verdict.Invalid}},
		"other launches":           {{[]string{"l1", "l3"}, "bench", verdict.Pass}},
		"none":                     {{nil, "bench", verdict.Pass}},
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
			if err := l.Append(&ledger.Record{Type: "decision", Time: noon, Run: "r1", Decision: d}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
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
