package main

import (
	"testing"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// A launch has one number, in the progress and in all that is said of it: that of its
// turn, also where it is made again, and its ID stays what it can be looked up by.
func TestABNumbers(t *testing.T) {
	s := newRecordedState(t)
	s.apply(planWith(tenPercent, tenPercent), nil)
	for i, l := range []ledger.Launch{
		{ID: "s-1.baseline.1", Variant: "baseline", Ordinal: 1, OK: true},
		{ID: "s-1.B.1", Variant: "B", Ordinal: 1, OK: true, Invalid: []string{"woken late"}, Disturbed: true},
		{ID: "s-1.B.1r1", Variant: "B", Ordinal: 1, OK: true, Replaces: "s-1.B.1"},
		{ID: "s-1.B.2", Variant: "B", Ordinal: 2, Error: "it ended"},
	} {
		l.Session, l.Purpose, l.Node, l.VariantKey, l.Work, l.Order, l.Started = "s-1", "benchmark", "feature.B.benchmark", l.Variant, "w", i+1, s.at
		s.append(&ledger.Record{Type: "launch", Launch: &l})
	}
	r := &abResult{}
	r.number(s.st, "s-1")
	list := []string{
		abReason("", "launch s-1.B.1 was replaced: woken late"),
		abReason("B: ", "cpu is a in launch s-1.baseline.1 and b in launch s-1.B.1r1."),
		abReason("", "launch 3 (B): it ended; launch s-1.B.12 is none, and baseline is (baseline)"),
		abReason("", "mxflow show s-1.baseline.1"),
	}
	r.byNumber(list)
	for i, want := range []string{
		"launch 2 (B) was replaced: woken late",
		"B: cpu is a in launch 1 (A) and b in launch 2 again (B).",
		"launch 3 (B): it ended; launch s-1.B.12 is none, and A is (A)",
		"mxflow show s-1.baseline.1",
	} {
		if list[i] != want {
			t.Errorf("%q, want %q", list[i], want)
		}
	}
	r.number(s.st, "")
	if len(r.numbers)+len(r.named) != 0 {
		t.Errorf("of no session: %v", r.named)
	}
}
