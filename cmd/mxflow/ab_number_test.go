package main

import (
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A launch has one number, in the progress and in all that is said of it: that of its
// turn, also where it is made again, and its ID stays what it can be looked up by.
func TestABNumbers(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	for i, l := range []ledger.Launch{
		{ID: "s-1.baseline.1", Variant: "baseline", Ordinal: 1, OK: true},
		{ID: "s-1.B.1", Variant: "B", Ordinal: 1, OK: true, Invalid: facts("woken late"), Disturbed: true},
		{ID: "s-1.B.1r1", Variant: "B", Ordinal: 1, OK: true, Replaces: "s-1.B.1"},
		{ID: "s-1.B.2", Variant: "B", Ordinal: 2, Error: fact("it ended")},
	} {
		l.Session, l.Purpose, l.Node, l.VariantKey, l.Work, l.Order, l.Started = "s-1", "benchmark", "feature.B.benchmark", l.Variant, "w", i+1, s.at
		s.append(&ledger.Record{Type: "launch", Launch: &l})
	}
	r := &abResult{}
	r.number(s.st, "s-1")
	replaced := verdict.New(code.LaunchReplaced).On("s-1.B.1").From(fact("woken late"))
	cpu := verdict.New(code.EntryDiffers, verdict.Text("one", "s-1.baseline.1"), verdict.Text("value", "a"), verdict.Text("other", "s-1.B.1r1"), verdict.Text("other_value", "b")).On("cpu")
	for i, of := range []verdict.Reason{
		replaced,
		verdict.New(code.EnvironmentApart, verdict.Text("other", "B")).On("baseline").From(cpu),
		verdict.New(code.LaunchLost, verdict.Int("number", 1), verdict.Text("variant", "baseline")).On("s-1.baseline.1").From(fact("it ended; launch s-1.B.12 is none")),
		verdict.New(code.MetricLacking, verdict.Text("metric", "bench.tg"), verdict.Text("recorded", "s-1.baseline.1")).On("s-1.baseline.1"),
	} {
		want := []string{
			"launch 2 (B) was replaced: woken late",
			"A and B were not measured in one environment: cpu is a in launch 1 (A) and b in launch 2 again (B).",
			"launch 1 (A): it ended; launch s-1.B.12 is none",
			"launch 1 (A) has no tg (mxflow show s-1.baseline.1)",
		}[i]
		if got := tell.Line(r.reason(of)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if again := tell.Line(replaced); again != "launch s-1.B.1 was replaced: woken late" {
		t.Errorf("the decision's own reason has become %q", again)
	}
	r.number(s.st, "")
	if len(r.numbers)+len(r.named) != 0 {
		t.Errorf("of no session: %v", r.named)
	}
}
