package runtime

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
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
	if err := m.Append(records...); err != nil {
		t.Fatal(err)
	}
	return withdrawn
}

// TestRetract: whichever node is retracted, the next run decides nothing that
// rests on it, measures nothing, and does not end well; a person who asks for the
// node gets it all back without other measurements.
func TestRetract(t *testing.T) {
	g := ports(t)
	for _, c := range []struct {
		node      string
		withdrawn string
		rerun     []string
		measured  string
	}{
		{"baseline", "feature.one phase.a feature.two phase.b", []string{"baseline"}, "baseline"},
		{"feature.one.qualify", "feature.one phase.a feature.two phase.b", []string{"feature.one.qualify"}, "feature.one.qualify"},
		{"feature.one.benchmark", "feature.one phase.a feature.two phase.b", []string{"feature.one.benchmark"}, "feature.one.benchmark"},
		{"feature.one", "phase.a feature.two phase.b", []string{"feature.one"}, ""},
		{"phase.a", "feature.two phase.b", []string{"phase.a"}, ""},
		{"phase.b.step.exec.tag", "feature.two phase.b", []string{"phase.b.step.exec.tag"}, "phase.b.step.exec.tag"},
		{"feature.two", "phase.b", []string{"feature.two"}, ""},
		{"phase.b", "", []string{"phase.b"}, ""},
	} {
		m := newMemory()
		var started []string
		r := runnerOf(g, m, resting(&started, nil))
		execute(t, r)
		if got := strings.Join(retract(t, g, m, c.node), " "); got != c.withdrawn {
			t.Errorf("%s: withdrawn with it are %q, want %q", c.node, got, c.withdrawn)
		}
		for round := range 2 {
			started = nil
			res := execute(t, r)
			if len(started) > 0 {
				t.Errorf("%s: run %d started %q", c.node, round, started)
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
		r.Rerun = func(n *Node) bool { return n.ID == c.rerun[0] }
		started = nil
		res := execute(t, r)
		if v := Summarise(res.Result).Verdict; v != verdict.Pass {
			t.Errorf("%s: asked for again, the run is %s (%v)", c.node, v, res.Locked)
		}
		var measured []string
		for _, id := range started {
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
	feature := func(name string, on plans.BuildsOn) *plans.Feature {
		return &plans.Feature{Name: name, Phase: "a", Protocol: "p", BuildsOn: on}
	}
	g, err := NewGraph(&plans.Plan{
		Baseline:  &plans.Baseline{},
		Protocols: []*plans.Protocol{{Name: "p", Levels: []*plans.Block{{Kind: "benchmark"}}}},
		Phases: []*plans.Phase{{Name: "a", Gate: &plans.Gate{}, Features: []*plans.Feature{
			feature("one", plans.BuildsOn{Kind: plans.OnBaseline}),
			feature("beside", plans.BuildsOn{Kind: plans.OnBaseline}),
			feature("above", plans.BuildsOn{Kind: plans.OnFeature, Feature: "one"}),
			feature("stacked", plans.BuildsOn{Kind: plans.OnAccepted}),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, alone := range []bool{false, true} {
		m := newMemory()
		var started []string
		r := runnerOf(g, m, resting(&started, nil))
		execute(t, r)
		if alone {
			_ = m.Append(&ledger.Record{Decision: m.Latest("feature.one").Withdraw(ledger.Retraction{Node: "feature.one", Reason: "wrong prompts", By: "kim"})})
		} else if got := strings.Join(retract(t, g, m, "feature.one"), " "); got != "feature.above feature.stacked phase.a" {
			t.Errorf("withdrawn are %q", got)
		}
		preview, err := r.Reconcile()
		if err != nil {
			t.Fatal(err)
		}
		started = nil
		res := execute(t, r)
		if len(started) > 0 {
			t.Errorf("alone %v: started %q", alone, started)
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
	m := newMemory()
	var started []string
	r := runnerOf(g, m, resting(&started, nil))
	r.Now = func() time.Time { return noon }
	execute(t, r)
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
