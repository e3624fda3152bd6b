package report

import (
	"encoding/json"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestReward: the bound of a claim over the parent pays once, in the first run by the same rules
// that ends, and nothing else does.
func TestReward(t *testing.T) {
	// as makes the test of a criterion what gates make it.
	as := func(change func(*verdict.Test)) func(*ledger.Decision) {
		return func(d *ledger.Decision) {
			c := &d.Rules[0].Comparisons[0]
			gain := *d.Rules[0].Inputs[0].Value
			c.Verdict, c.Test.Relation, c.Test.More, c.Test.Estimate = d.Verdict, "gain", true, &gain
			c.Test.Arm, c.Test.Against = d.Feature, d.Evidence[0].Parent.Name
			if change != nil {
				change(c.Test)
			}
		}
	}
	honest := as(nil)
	// beside is an honest claim, and another one.
	beside := func(text string, change func(*verdict.Test)) func(*ledger.Decision) {
		return func(d *ledger.Decision) {
			honest(d)
			other := d.Rules[0]
			test := *other.Comparisons[0].Test
			change(&test)
			other.Comparisons = []verdict.Comparison{{Text: text, Verdict: verdict.Pass, Test: &test}}
			d.Rules = append(d.Rules, other)
		}
	}
	decide := func(s *story, name string, change func(*ledger.Decision)) {
		knobs := set("moe=routed")
		base := s.launches("s-"+name, ledger.Baseline, set(), 100, 100)
		s.feature(name, true, knobs, ledger.Baseline, base, s.launches("s-"+name, name, knobs, 130, 130),
			0.3, 0.25, change)
	}
	begin := func(s *story, run, rules, seal string) {
		s.add(&ledger.Record{Type: "run", Run: run, RunStart: &ledger.RunStart{
			Plan: "tiny", Rules: rules, Seal: seal,
			Nodes: []string{"feature.a", "feature.b"},
		}})
	}
	leave := func(s *story, run string) {
		locked := map[string]verdict.Reason{"feature.a": verdict.New(code.NotTargeted)}
		s.add(&ledger.Record{
			Type: "end", Run: run,
			End: &ledger.End{Reason: verdict.New(code.Finished), Locked: locked},
		})
	}
	killed := func(s *story) {
		begin(s, "r1", "x", "")
		decide(s, "a", honest)
	}
	once := func(change func(*ledger.Decision)) func(*story) {
		return func(s *story) {
			begin(s, "r1", "x", "")
			decide(s, "a", change)
			s.end("r1")
		}
	}
	again := func(first func(*story), seal string) func(*story) {
		return func(s *story) {
			first(s)
			begin(s, "r2", "x", seal)
			s.end("r2")
		}
	}
	bound := func(low float64) func(*verdict.Test) { return func(c *verdict.Test) { c.Low = &low } }
	for name, c := range map[string]struct {
		record     func(*story)
		run        string
		pays, paid float64 // of a
		none       bool    // it has no reward
	}{
		"a pass":                          {once(honest), "r1", 0.25, 0.25, false},
		"the next run":                    {again(once(honest), ""), "r2", 0, 0.25, false},
		"after a kill":                    {again(killed, ""), "r2", 0.25, 0.25, false},
		"decided in a run by other rules": {again(once(honest), "sealed"), "r2", 0, 0, false},
		"left out by the run after a kill": {func(s *story) {
			killed(s)
			begin(s, "r2", "x", "")
			leave(s, "r2")
			begin(s, "r3", "x", "")
			s.end("r3")
		}, "r3", 0.25, 0.25, false},
		"a guard beside a claim": {once(beside("chat.tg.change >= -0.05", func(c *verdict.Test) {
			bound(-0.03)(c)
			c.Threshold, c.Relation = -0.05, "change"
		})), "r1", 0.25, 0.25, false},
		"rules that nobody could read": {func(s *story) {
			begin(s, "r1", "", "")
			decide(s, "a", honest)
			s.end("r1")
		}, "r1", 0, 0, true},
		"a run without an end": {killed, "r1", 0, 0, true},
		"one variant under two names": {func(s *story) {
			begin(s, "r1", "x", "")
			decide(s, "b", honest)
			decide(s, "a", honest)
			s.end("r1")
		}, "r1", 0, 0, false},
		"what is no pass": {once(func(d *ledger.Decision) {
			honest(d)
			d.Verdict = verdict.Inconclusive // another rule's
		}), "r1", 0, 0, false},
		"a pass that was replaced": {func(s *story) {
			killed(s)
			s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
				Node: "feature.a", Kind: "feature", Phase: "p", Feature: "a", Attempt: 2, Verdict: verdict.Invalid,
				Supersedes: true,
			}})
			s.end("r1")
		}, "r1", 0, 0, false},
		"the baseline, not the parent": {once(as(func(c *verdict.Test) { c.Against = "b" })), "r1", 0, 0, false},
		"no bound":                     {once(as(func(c *verdict.Test) { c.Low = nil })), "r1", 0, 0, false},
		"no gain that is claimed":      {once(as(func(c *verdict.Test) { c.Relation = "" })), "r1", 0, 0, false},
		"a gain of less than nothing":  {once(as(bound(-0.02))), "r1", 0, 0, false},
		"the least of two claims":      {once(beside("chat.e2e.gain >= 0.1", bound(0.11))), "r1", 0.11, 0.11, false},
		"locked now":                   {func(s *story) { killed(s); leave(s, "r1") }, "r1", 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			c.record(s)
			got := RewardOf(s.st, c.run)
			if c.none || got == nil {
				if got != nil || !c.none {
					t.Fatalf("%+v", got)
				}
				return
			}
			var a runtime.Payment
			for _, p := range got.Ports {
				if p.Feature == "a" {
					a = p
				}
			}
			if a.Pays != c.pays || a.Paid != c.paid {
				t.Errorf("it pays %v of %v, want %v of %v", a.Pays, a.Paid, c.pays, c.paid)
			}
			must.Get(json.Marshal(got))(t)
			if launches := got.Spent.Launches + got.Before.Launches; launches == 0 ||
				len(got.Spent.Decided)+len(got.Before.Decided) == 0 {
				t.Errorf("%+v, %+v", got.Spent, got.Before)
			}
		})
	}
}
