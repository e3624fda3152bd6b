package report

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestRuledOtherwise: where a rule and the standing table differ, one line says why.
func TestRuledOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		more bool
		came verdict.Verdict
		now  []float64
		said bool
	}{
		"passed, and open now":  {"chat.tg > target.llamacpp.chat.tg", true, verdict.Pass, []float64{50, 66, 57, 59}, true},
		"failed, and beaten":    {"target.llamacpp.chat.tg < chat.tg", true, verdict.Fail, []float64{60, 61, 60.5, 60.7}, true},
		"passed and beaten":     {"chat.tg > target.llamacpp.chat.tg", true, verdict.Pass, []float64{60, 61, 60.5, 60.7}, false},
		"asks for the opposite": {"chat.tg < target.llamacpp.chat.tg", false, verdict.Pass, []float64{50, 66, 57, 59}, false},
		"another target":        {"chat.tg > target.llamacpp.chat.tg_total", true, verdict.Pass, []float64{50, 66, 57, 59}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.begin("r1", target)
			s.add(baselineOf(set()))
			first := s.launches("s-1", "baseline", set(), 70, 71)
			s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
				Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: c.came,
				Rules: []ledger.Rule{{Name: "beats llama.cpp", Role: "rule", Decides: true, Verdict: c.came, Comparisons: []ledger.Comparison{
					{Text: c.text, Verdict: c.came, Test: &verdict.Test{Form: verdict.LogLevel, More: c.more, Threshold: target.Value, Launches: first}},
				}}},
			}})
			s.launches("s-2", "baseline", set(), c.now...)
			notes := strings.Join(ContestNotes(Contests(s.st)), "\n")
			if said := strings.Contains(notes, `Rule "beats llama.cpp" of phase.p is `+string(c.came)); said != c.said {
				t.Errorf("said %v, want %v: %s", said, c.said, notes)
			}
			if c.said && !strings.Contains(notes, "of session s-1 up to the look that decided, at the plan's error rates; this table takes all of session s-2") {
				t.Error(notes)
			}
		})
	}
}
