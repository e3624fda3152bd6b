package report

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// ruledOn is a story with one rule of a gate about the target, decided on launches of
// an arm, and newer launches of the baseline, which beat the target.
func ruledOn(t *testing.T, arm string, knobs map[string]string, came verdict.Verdict, c ledger.Comparison) *story {
	s := newStory(t)
	s.begin("r1", target)
	s.add(baselineOf(set()))
	c.Verdict, c.Test.Launches = came, s.launches("s-1", arm, knobs, 50, 51)
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: came,
		Rules: []ledger.Rule{{Name: "beats llama.cpp", Role: "rule", Decides: true, Verdict: came, Comparisons: []ledger.Comparison{c}}},
	}})
	s.launches("s-2", "baseline", set(), 60, 61, 60.5, 60.7)
	return s
}

// TestRuledOtherwiseSaysTheCause: a rule that asks for another number than the
// target's, or that was decided on another variant, came out otherwise for that.
func TestRuledOtherwiseSaysTheCause(t *testing.T) {
	causes := []string{
		"up to the look that decided",
		"the rule asks for more than 60.74 tok/s, and the target is 57.85 tok/s",
		"it was decided on launches of moe, and this table takes those of baseline",
	}
	for name, c := range map[string]struct {
		arm  string
		came verdict.Verdict
		asks float64
		said []bool
	}{
		"asks for the target":            {"baseline", verdict.Fail, 1, []bool{true, false, false}},
		"asks for more, and fails":       {"baseline", verdict.Fail, 1.05, []bool{false, true, false}},
		"asks for more, and is open":     {"baseline", verdict.Inconclusive, 1.05, []bool{false, true, false}},
		"of another variant":             {"moe", verdict.Fail, 1, []bool{false, false, true}},
		"both":                           {"moe", verdict.Fail, 1.05, []bool{false, true, true}},
		"asks for less, and fails still": {"baseline", verdict.Fail, 0.9, []bool{true, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			knobs := set()
			if c.arm == "moe" {
				knobs = set("moe=routed")
			}
			s := ruledOn(t, c.arm, knobs, c.came, ledger.Comparison{
				Text: "chat.tg > 1.05 * target.llamacpp.chat.tg",
				Test: &verdict.Test{Form: verdict.LogLevel, More: true, Threshold: c.asks * target.Value},
			})
			notes := strings.Join(ContestNotes(Contests(s.st)), "\n")
			for i, cause := range causes {
				if strings.Contains(notes, cause) != c.said[i] {
					t.Errorf("%q, want %v: %s", cause, c.said[i], notes)
				}
			}
		})
	}
}

// TestChangeIsNotAskedOfTheTarget: how much better than its parent an arm is says
// nothing of whether a target is beaten, whatever number the change is held against.
func TestChangeIsNotAskedOfTheTarget(t *testing.T) {
	s := ruledOn(t, "baseline", set(), verdict.Fail, ledger.Comparison{
		Text: "chat.tg.delta > 0.1 * target.llamacpp.chat.tg",
		Test: &verdict.Test{Form: verdict.Difference, More: true, Against: "baseline", Threshold: 5.785},
	})
	if got := Contests(s.st)[0].Rulings; len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
