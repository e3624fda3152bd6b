package decide

import (
	"fmt"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestTries: what asks again is counted however it is called and whatever it sets; what
// never could have passed, or has passed, or asks something else is not.
func TestTries(t *testing.T) {
	// session is one of n launches of a parent and a candidate.
	session := func(id, parent, name, key, work string, n int) (l ledgerOf) {
		for i := range n {
			for _, arm := range [][2]string{{"base", parent}, {name, key}} {
				l = append(l, &ledger.Record{Launch: &ledger.Launch{
					ID: fmt.Sprintf("%s.%s.%d", id, arm[0], i+1), Session: id, Purpose: ledger.ForBenchmark, Variant: arm[0], VariantKey: arm[1], Work: work, OK: true, Ordinal: i + 1,
				}})
			}
		}
		return l
	}
	came := func(id, name string, v verdict.Verdict, change func(*ledger.Decision)) ledgerOf {
		d := &ledger.Decision{Kind: ledger.KindFeature, Verdict: v, Evidence: []ledger.Evidence{{
			Feature: name, Session: id, Candidate: ledger.Arm{Name: name, Launches: []string{id + "." + name + ".1"}},
		}}}
		if change != nil {
			change(d)
		}
		return ledgerOf{{Decision: d}}
	}
	join := func(all ...ledgerOf) (l ledgerOf) {
		for _, some := range all {
			l = append(l, some...)
		}
		return l
	}
	// A session whose second round stood beside the first and ended before it.
	beside := session("s1", "p", "f", "c", "w", 4)
	beside = append(ledgerOf{beside[3], beside[0], beside[2], beside[1]}, beside[4:]...)
	own := session("s9", "p", "f", "c", "w", 8)
	failed := join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Fail, nil))
	chose := func(d *ledger.Decision) {
		d.Alternatives = []ledger.Alternative{{Name: "f", Verdict: verdict.Fail}, {Name: "g", Verdict: verdict.Pass}}
	}
	for name, c := range map[string]struct {
		before ledgerOf
		want   int
	}{
		"the first":                   {nil, 0},
		"after a fail":                {failed, 2},
		"rounds stood side by side":   {join(beside, came("s1", "f", verdict.Fail, nil)), 2},
		"after two":                   {join(failed, session("s2", "p", "f", "c", "w", 8), came("s2", "f", verdict.Inconclusive, nil)), 3},
		"another knob":                {join(session("s1", "p", "f", "other", "w", 4), came("s1", "f", verdict.Fail, nil)), 2},
		"another name":                {join(session("s1", "p", "old", "c", "w", 4), came("s1", "old", verdict.Fail, nil)), 2},
		"another feature":             {join(session("s1", "p", "g", "d", "w", 4), came("s1", "g", verdict.Fail, nil)), 0},
		"another parent":              {join(session("s1", "q", "f", "c", "w", 4), came("s1", "f", verdict.Fail, nil)), 0},
		"another workload":            {join(session("s1", "p", "f", "c", "x", 4), came("s1", "f", verdict.Fail, nil)), 0},
		"after a pass":                {join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, nil)), 0},
		"passed, refused by a gate":   {join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, nil), came("s1", "f", verdict.Fail, nil)), 2},
		"another alternative passed":  {join(session("s1", "p", "f", "c", "w", 4), came("s1", "f", verdict.Pass, chose)), 2},
		"retracted":                   {join(failed, came("s1", "f", verdict.Invalid, func(d *ledger.Decision) { d.Retraction = &ledger.Retraction{} })), 2},
		"broken off after a look":     {session("s1", "p", "f", "c", "w", 4), 2},
		"broken off at two":           {session("s1", "p", "f", "c", "w", 2), 2},
		"broken off before any":       {session("s1", "p", "f", "c", "w", 1), 0},
		"screened":                    {join(session("s1", "p", "f", "c", "w", 1), came("s1", "f", verdict.Fail, nil)), 0},
		"a parent of others, with it": {session("s1", "root", "f", "c", "w", 4), 0},
	} {
		if got := Tries(join(c.before, own).records(), "f", "c", "p", "s9", "w"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		// What came later, or comes next, changes nothing of a session.
		if got := Tries(join(c.before, own, came("s9", "f", verdict.Fail, nil), session("s10", "p", "f", "c", "w", 8)).records(), "f", "c", "p", "s9", "w"); got != c.want {
			t.Errorf("%s, seen later: %d, want %d", name, got, c.want)
		}
	}
	if got := Tries(failed.records(), "f", "c", "p", "", "w"); got != 2 {
		t.Errorf("before it begins: %d, want 2", got)
	}
}
