package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestAuditSaysEachDecisionWhole: what an attempt came to stands with it, whatever the
// attempts before it said, and of a cause nothing is told by words far above.
func TestAuditSaysEachDecisionWhole(t *testing.T) {
	const cause = "level benchmark is invalid: launch 1 (baseline): the client was woken up to 162 ms late"
	reasons := []string{"feature attention_backend_flashinfer: fail", "feature kv: invalid: " + cause, "decode: pass: chat.tg.gain is +38.2 %, as wanted"}
	s := newRecordedState(t)
	for attempt := 1; attempt <= 2; attempt++ {
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.p", Kind: ledger.KindPhase, Phase: "p", Attempt: attempt, Verdict: verdict.Fail, Reasons: reasons,
		}})
		s.append(&ledger.Record{Type: "decision", Run: "r", Decision: &ledger.Decision{
			Node: "phase.q", Kind: ledger.KindGate, Phase: "q", Attempt: attempt, Verdict: verdict.Invalid, Rules: []ledger.Rule{
				{Name: "a", Role: "rule", Verdict: verdict.Invalid, Inputs: []ledger.Input{{Path: "chat.tg", Missing: cause}}},
				{Name: "b", Role: "rule", Verdict: verdict.Invalid, Inputs: []ledger.Input{{Path: "chat.tg", Missing: cause}}},
			},
		}})
	}
	var out bytes.Buffer
	(&app{stdout: &out}).auditList(s.st)
	for text, want := range map[string]int{
		reasons[0]:                    2,
		reasons[1]:                    2,
		reasons[2]:                    2,
		"chat.tg = missing: " + cause: 2,
		"chat.tg = missing: level benchmark is invalid, as said above": 2,
		"as said above": 2,
	} {
		if n := strings.Count(out.String(), text); n != want {
			t.Errorf("%q stands there %d times, want %d:\n%s", text, n, want, out.String())
		}
	}
}
