package runtime

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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
		m := newMemory()
		var started []string
		launches := map[string][]string{"feature.f": append([]string{"q-1"}, old...), "bench": old}
		r := runnerOf(g, m, resting(&started, launches))
		execute(t, r)
		retract(t, g, m, "feature.f")
		for i, c := range rounds {
			launches["feature.f"], launches["bench"] = c.launches, c.launches
			// The benchmark asked for is another attempt, and so other evidence.
			r.Rerun = func(n *Node) bool { return n.ID == c.rerun }
			res := execute(t, r)
			if d := res.Outcomes["feature.f"]; d.Verdict != c.want || d.Retracted() != (c.want == verdict.Invalid) {
				t.Errorf("%s, round %d: %+v", name, i, d)
			}
			r.Rerun, started = nil, nil
			if execute(t, r); len(started) > 0 {
				t.Errorf("%s, round %d: started %q again", name, i, started)
			}
		}
		// What the runner makes is what the ledger takes.
		l, err := ledger.Open(t.TempDir()+"/ledger", nil)
		if err != nil {
			t.Fatal(err)
		}
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

// TestWaivedRetraction: a person may go on although what a gate rests on was
// retracted, and the gate says so.
func TestWaivedRetraction(t *testing.T) {
	g := ports(t)
	m := newMemory()
	var started []string
	r := runnerOf(g, m, resting(&started, nil))
	r.Now = func() time.Time { return noon }
	execute(t, r)
	// The gate alone: the second phase builds on what its feature accepted.
	retract(t, g, m, "phase.a")
	m.waivers = map[string]*ledger.Waiver{"phase.a": waiverOf(m, "phase.a")}
	res := execute(t, r)
	wantVerdict(t, res, "phase.a", verdict.Invalid)
	wantVerdict(t, res, "phase.b", verdict.Pass)
	if v := Summarise(res.Result).Verdict; v != verdict.Waived {
		t.Errorf("the run is %s", v)
	}
}
