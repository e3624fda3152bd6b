package main

import (
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A later attempt that only has another hypothesis is the same decision: withdrawn,
// it withdraws the attempt that decided it, and none that decided before that.
func TestADecisionIsWithdrawnWithItsHypotheses(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	at := func(attempt, of int) *ledger.Decision {
		d := &ledger.Decision{Node: "feature.routed", Kind: ledger.KindFeature, Feature: "routed", Phase: "experts", Attempt: attempt, Of: of, Verdict: verdict.Pass, Accepted: true, Because: verdict.New(code.First)}
		s.append(&ledger.Record{Type: "decision", Decision: d})
		return d
	}
	at(1, 0)
	at(2, 0)
	newest := at(3, 2)
	gone := newest.Withdraw(ledger.Retraction{Node: newest.Node, By: "kim", Reason: "a wrong flag", Verdict: newest.Verdict, Accepted: true, Attempt: newest.Attempt})
	s.append(&ledger.Record{Type: "decision", Decision: gone})
	history := s.st.History(newest.Node)
	for attempt, withdrawn := range map[int]bool{1: false, 2: true, 3: true} {
		marks := marksOf(s.st, history[attempt-1], time.Now())
		got := slices.ContainsFunc(marks, func(m verdict.Reason) bool {
			return m.Code == code.WithdrawnLater && m.Causes[0].Code == code.RetractedBy && m.Causes[0].Args["reason"].Text == "a wrong flag"
		})
		if got != withdrawn {
			t.Errorf("attempt %d: %+v", attempt, marks)
		}
	}
}
