package runtime

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
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
	return &ledger.Waiver{
		Node: gate, Attempt: d.Attempt, Verdict: d.Verdict, Reason: "known", By: "kim",
		Expires: noon.Add(time.Hour),
	}
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
		"fail":         {verdict.Fail, nil, noon, true, verdict.Waived, "waiver.covers"},
		"inconclusive": {verdict.Inconclusive, nil, noon, true, verdict.Waived, "waiver.covers"},
		"invalid":      {verdict.Invalid, nil, noon, true, verdict.Waived, "waiver.covers"},
		"expired":      {verdict.Fail, nil, noon.Add(time.Hour), false, verdict.Fail, "waiver.expired"},
		"revoked": {verdict.Fail, func(w *ledger.Waiver) {
			w.Revoked = true
		}, noon, false, verdict.Fail, "waiver.revoked"},
		"other attempt": {verdict.Fail, func(w *ledger.Waiver) {
			w.Attempt = 7
		}, noon, false, verdict.Fail, "waiver.of_earlier"},
		"pass": {verdict.Pass, nil, noon, true, verdict.Pass, ""},
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
		if overruled.Kind != c.overrule || c.overrule != "" && overruled.Values["by"].Text != "kim" ||
			!overruled.Equal(preview[0].Overruled) {
			t.Errorf("%s: said is %+v, want %q; the preview says %+v", name, overruled, c.overrule,
				preview[0].Overruled)
		}
		s := Summarise(res.Result)
		if s.Verdict != c.overall || s.Rows[0].Decision.Verdict != c.verdict ||
			(s.Rows[0].Waiver != nil) != (c.overall == verdict.Waived) {
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
	v := &verdicts{of: map[string]verdict.Verdict{
		"step": verdict.Fail, "bench": verdict.Invalid, "other": verdict.Fail,
		"phase.a": verdict.Invalid,
	}}
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
