package main

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Starts that broke and were made again, and questions that were asked otherwise
// before, stand beside the result: a pass must not hide them.
func TestABToKnow(t *testing.T) {
	q := &ab{}
	r := &abResult{Moved: facts("attempt 1 saw these launches"), Notes: []verdict.Reason{
		verdict.New(code.LaunchesPerArm, verdict.Int("n", 4)),
		verdict.New(code.LaunchReplaced).On("x").From(fact("it broke")),
		verdict.New(code.LaunchesNote, verdict.Int("launches", 4), verdict.Int("of", 8)).From(fact("tokens were counted as stream events")),
	}}
	r.tested(q, verdict.StopPass, verdict.Look{N: 4}, 0.1, 0.2)
	r.B.Replaced, r.B.Broke = 3, 2
	r.B.all = []*ledger.Launch{{Purpose: "benchmark", OK: true}, {Purpose: "benchmark", Error: fact("it broke")}}
	r.A.Replaced = 1 // disturbed
	want := []string{"The server of B broke in 3 of 5 starts that were to be measured. Those give no number.", "Attempt 1 saw these launches.", "4 of 8 launches: tokens were counted as stream events."}
	if got := r.toKnow(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("to know: %q", got)
	}
	rows := (&abShow{q: q}).checked(r)
	if last := rows[len(rows)-1]; last[0] != "errors" || !strings.HasSuffix(last[1], "here that does not hold, see below") {
		t.Errorf("checked: %q", rows)
	}
}

// What more launches would show is said of as many as were asked for.
func TestABAdviceOfTwelveLaunches(t *testing.T) {
	for launches, want := range map[int]string{0: "so that 8 of each", 12: "so that 12 of each"} {
		claim, err := parseClaim("tg", "+1%")
		if err != nil {
			t.Fatal(err)
		}
		q := &ab{launches: launches, claim: claim}
		r := &abResult{Stopped: verdict.StopFutile}
		r.launched([]float64{31, 32, 33, 31}, []float64{31.2, 32.4, 33.4, 31.3})
		r.openAdvice(q, 4)
		if got := strings.Join(r.Advice, "\n"); !strings.Contains(got, want) {
			t.Errorf("of %d: %q, want %q", launches, got, want)
		}
	}
}

// A launch that does not count is no number of its arm, though nothing took its
// place.
func TestABLeavesOutWhatDoesNotCount(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	for i, why := range [][]verdict.Reason{nil, facts("the client was woken late")} {
		s.append(&ledger.Record{Type: "launch", Launch: &ledger.Launch{
			ID: []string{"s-1.B.1", "s-1.B.2"}[i], Session: "s-1", Purpose: "benchmark", Variant: "B", VariantKey: "B", Work: "w", Ordinal: i + 1, Order: i + 1, Started: s.at, OK: true, Invalid: why,
			Metrics: map[string]measure.Summary{"bench.tg": {Unit: "tok/s", Better: measure.Higher, N: 1, Stats: map[string]float64{"median": 30}}},
		}})
	}
	var r abResult
	r.gather(s.st, map[string]*ledger.Decision{runtime.BenchmarkID("B"): {Session: "s-1"}}, "tg")
	if len(r.B.Launches) != 1 || r.B.Launches[0].ID != "s-1.B.1" || len(r.B.all) != 2 {
		t.Errorf("%+v", r.B)
	}
	ev := rewordAB(runtime.Event{Type: "launch_started", Variant: "baseline", Why: verdict.New(code.WokenLate).On("bench")})
	if said := tell.Line(ev.Why); ev.Variant != "A" || !strings.HasSuffix(said, "or allow more with --max-lag") {
		t.Error(ev.Variant, said)
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{"": "", "done": "Done.", "éteint!": "Éteint!", "?": "?"} {
		if got := sentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
