package store

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestWaivers: the newest waiver of a gate is found by writers and readers, and
// a run shows those of its decisions.
func TestWaivers(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	gate := decision("r1", "phase.a", 1, verdict.Fail)
	gate.Decision.Kind = "gate"
	waive := func(reason string, revoked bool) *ledger.Record {
		return &ledger.Record{Type: "waiver", Time: noon, Run: "r1", Waiver: &ledger.Waiver{
			Node: "phase.a", Attempt: 1, Verdict: verdict.Fail,
			Reason: reason, By: "kim", Expires: noon.Add(time.Hour), Revoked: revoked,
		}}
	}
	if s.Waiver("phase.a") != nil || len(s.Waivers()) != 0 {
		t.Error("there is a waiver before any was given")
	}
	add(t, s, runStart("r1"), gate, runEnd("r1"))
	// Given after the run ended, of a decision of it.
	add(t, s, waive("known", false), waive("not known", true))
	add(t, s, runStart("r2"), runEnd("r2"))
	feature := decision("r1", "feature.a", 1, verdict.Pass)
	add(t, s, feature)
	add(t, s, &ledger.Record{Type: "decision", Time: noon, Run: "r1", Decision: feature.Decision.Withdraw(ledger.Retraction{Node: "feature.a", Reason: "wrong", By: "kim"})})
	for name, s := range map[string]*Store{"writer": s, "reader": openReadOnly(t, dir)} {
		if w := s.Waiver("phase.a"); w == nil || !w.Revoked || w.Reason != "not known" {
			t.Errorf("%s: the newest waiver is %+v", name, w)
		}
		if all := s.Waivers(); len(all) != 2 || all[0].Reason != "known" || all[0].Run != "r1" || all[0].Record != 3 {
			t.Errorf("%s: waivers are %+v", name, all)
		}
		if runs := s.Runs(); len(runs) != 2 || !runs[0].Done || runs[1].ID != "r2" {
			t.Errorf("%s: runs are %+v", name, runs)
		}
		view, err := s.Run("r1")
		if err != nil || len(view.Waivers) != 2 || len(view.Decisions) != 3 {
			t.Errorf("%s: %+v, %v", name, view, err)
		}
		if d, _, _ := s.Latest("feature.a"); !d.Retracted() || d.Attempt != 2 {
			t.Errorf("%s: the newest decision is %+v", name, d)
		}
	}
}
