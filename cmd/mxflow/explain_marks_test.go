package main

import (
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A later attempt that only has another hypothesis is the same decision: withdrawn,
// it withdraws the attempt that decided it, and none that decided before that.
func TestADecisionIsWithdrawnWithItsHypotheses(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	at := func(attempt, of int) *ledger.Decision {
		d := &ledger.Decision{Node: "feature.routed", Kind: ledger.KindFeature, Feature: "routed", Phase: "experts", Attempt: attempt, Of: of, Verdict: verdict.Pass, Accepted: true, Because: "first"}
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
		said := strings.Join(marksOf(s.st, history[attempt-1], time.Now()), "\n")
		if got := strings.Contains(said, "this decision was withdrawn on") && strings.Contains(said, "a wrong flag"); got != withdrawn {
			t.Errorf("attempt %d: %q", attempt, said)
		}
	}
}
