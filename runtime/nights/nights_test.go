package nights

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// sessions reads "good fail, good again pass": each a session with its verdict, and by how much better it was,
// in percent, if that follows.
func sessions(text string) (list []Session) {
	for one := range strings.SplitSeq(text, ", ") {
		if one == "" {
			continue
		}
		x, words := Session{}, strings.Fields(one)
		for _, w := range words {
			switch w {
			case "good", "anchor":
				x.Against = w
			case "again":
				x.Again = true
			default:
				x.Verdict = verdict.Verdict(w)
			}
		}
		x.Effects = []Effect{{Metric: "chat.tg", Sign: 1, Low: -0.01, High: 0.01, Margin: math.Log1p(-0.03)}}
		list = append(list, x)
	}
	return list
}

func TestNext(t *testing.T) {
	alarmed := &ledger.Watched{Night: &ledger.Night{}}
	measured := State{
		Good: version(1), Anchor: version(0), Machine: "one", Chain: map[string]Effect{"chat.tg": {Metric: "chat.tg"}},
	}
	open, never, old, first, crept := measured, measured, measured, measured, measured
	open.Open, never.Since, old.Since, first.Good = alarmed, unmeasured, 6, version(0)
	crept.Chain = map[string]Effect{"chat.tg": {Metric: "chat.tg", Is: -0.04}}
	for _, c := range []struct {
		name  string
		s     State
		t     string
		ask   string
		ended ledger.NightOutcome
	}{
		{"a night begins", measured, "", "good", ""},
		{"not worse", measured, "good pass", "", ledger.NightMoved},
		{"worse", measured, "good fail", "good again", ""},
		{"and again", measured, "good fail, good again fail", "", ledger.NightAlarm},
		{"and not again", measured, "good fail, good again pass", "", ledger.NightUnconfirmed},
		{"open the second time", measured, "good fail, good again inconclusive", "", ledger.NightUnconfirmed},
		{"broken the second time", measured, "good fail, good again error", "", ledger.NightUnconfirmed},
		{"worse while an alarm is open", open, "good fail", "", ledger.NightWorse},
		{"repaired", open, "good pass", "", ledger.NightMoved},
		{"undecided", measured, "good inconclusive", "", ledger.NightUndecided},
		{"broken", measured, "good error", "", ledger.NightBroken},
		{"what does not count", measured, "good invalid", "", ledger.NightBroken},
		{"the anchor is due by number", old, "good pass", "anchor", ""},
		{"after one that did not pass", never, "good pass", "anchor", ""},
		{"undecided, and the anchor due", never, "good inconclusive", "anchor", ""},
		{"which cannot move it", never, "good inconclusive, anchor pass", "", ledger.NightUndecided},
		{"which passes", old, "good pass, anchor pass", "", ledger.NightMoved},
		{"which is open", old, "good pass, anchor inconclusive", "", ledger.NightUndecided},
		{"worse than the anchor", old, "good pass, anchor fail", "anchor again", ""},
		{"and again", old, "good pass, anchor fail, anchor again fail", "", ledger.NightAlarm},
		{"the nights add up to more than the rule allows", crept, "good pass", "anchor", ""},
		{"last good is the anchor", first, "good pass", "", ledger.NightMoved},
		{"a verdict that nobody knows", measured, "good waived", "", ledger.NightBroken},
	} {
		ask, ended := c.s.Next(Tonight{
			Candidate: version(2), Anchor: c.s.Anchor, Machine: "one", Sessions: sessions(c.t),
		}, 7)
		got := ""
		if ask != nil {
			if got = ask.Against; ask.Again {
				got += " again"
			}
		}
		if got != c.ask || ended != c.ended {
			t.Errorf("%s: asks %q, %q; want %q, %q", c.name, got, ended, c.ask, c.ended)
		}
	}
}

// TestMoved: neither another machine nor another anchor continues the numbers, and a rule whose metric was
// not measured before asks the anchor.
func TestMoved(t *testing.T) {
	s := State{
		Good: version(1), Anchor: version(0), Machine: "one", Chain: map[string]Effect{"chat.tg": {Metric: "chat.tg"}},
	}
	tonight := Tonight{Candidate: version(2), Anchor: version(0), Machine: "one", Sessions: sessions("good pass")}
	must.Equal(t, "as before", s.Due(tonight, 7), false)
	other, anchor, rule := tonight, tonight, tonight
	other.Machine, anchor.Anchor = "two", version(9)
	rule.Sessions = sessions("good pass")
	rule.Sessions[0].Effects[0].Metric = "chat.ttft"
	for name, x := range map[string]Tonight{"machine": other, "anchor": anchor, "rule": rule} {
		must.Equal(t, name, s.Due(x, 7), true)
	}
	moved := s.After(night(2, ledger.NightMoved, "two"), sessions("good pass, anchor pass"))
	must.Equal(t, "machine", moved.Machine, "two")
	must.Equal(t, "since", moved.Since, 0)
	stays := s.After(night(2, ledger.NightUndecided, "two"), sessions("good pass, anchor inconclusive"))
	must.Equal(t, "due until it passes", stays.Since, unmeasured)
	must.Equal(t, "last good", stays.Good, version(1))
}

// TestBack: a branch that goes back to the release is not compared with itself, and begins again.
func TestBack(t *testing.T) {
	s := State{
		Good: version(1), Anchor: version(0), Machine: "one", Since: 9,
		Chain: map[string]Effect{"chat.tg": {Metric: "chat.tg", Is: -0.02}},
	}
	tonight := Tonight{Candidate: version(0), Anchor: version(0), Machine: "one", Sessions: sessions("good pass")}
	must.Equal(t, "due", s.Due(tonight, 7), false)
	w := night(0, ledger.NightMoved, "one")
	w.Good = version(1)
	s = s.After(w, sessions("good pass"))
	must.Equal(t, "chain", len(s.Chain)+s.Since, 0)
	must.Equal(t, "last good", s.Good, version(0))
}

func night(n int, outcome ledger.NightOutcome, machine string) ledger.Watched {
	return ledger.Watched{Night: &ledger.Night{
		Candidate: version(n), Good: version(n - 1), Anchor: version(0), Outcome: outcome, Machine: machine,
	}}
}

// TestAccepted: what a person accepted is the anchor, until the plan names another one.
func TestAccepted(t *testing.T) {
	s := State{Good: version(1), Anchor: version(0), Release: "v0", Open: &ledger.Watched{}}
	w := night(5, ledger.NightAccepted, "")
	w.Release = "v0"
	s = s.After(w, nil)
	must.Equal(t, "last good", s.Good, version(5))
	must.Equal(t, "open", s.Open == nil, true)
	must.Equal(t, "anchor", s.Against(version(0)), version(5))
	must.Equal(t, "another", s.Against(version(4)), version(4))
}

func TestEffectsOf(t *testing.T) {
	num := func(x float64) *float64 { return &x }
	of := func(x verdict.Test) Effect {
		x.Metric, x.Stat = "chat.m", "median"
		d := &ledger.Decision{Rules: []verdict.Rule{{Comparisons: []verdict.Comparison{{Test: &x}}}}}
		must.Equal(t, "effects", len(EffectsOf(d)), 1)
		return EffectsOf(d)[0]
	}
	speed := of(verdict.Test{
		Relation: "gain", More: true, Estimate: num(-0.1), Low: num(-0.12), High: num(-0.08), Threshold: -0.03,
	})
	least := of(verdict.Test{ // a time that rose by 11% is as bad as a speed that fell by 10%
		Relation: "change", Estimate: num(1/0.9 - 1), Low: num(1/0.92 - 1), High: num(1/0.88 - 1),
		Threshold: 1/0.97 - 1,
	})
	saved := of(verdict.Test{
		Relation: "gain", Saved: true, More: true, Estimate: num(1 - 1/0.9), Low: num(1 - 1/0.88),
		High: num(1 - 1/0.92), Threshold: 1 - 1/0.97,
	})
	for name, e := range map[string]Effect{"speed": speed, "time": least, "time saved": saved} {
		for what, pair := range map[string][2]float64{
			"is": {e.Is, math.Log(0.9)}, "low": {e.Low, math.Log(0.88)}, "high": {e.High, math.Log(0.92)},
			"margin": {e.Margin, math.Log(0.97)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("%s: %s is %g, want %g", name, what, pair[0], pair[1])
			}
		}
	}
	if c := least.Change(least.Is); math.Abs(c-(1/0.9-1)) > 1e-12 {
		t.Errorf("a time's change is %g", c)
	}
	none := of(verdict.Test{Relation: "gain", More: true, Estimate: num(0)})
	if !math.IsInf(none.Low, -1) || !math.IsInf(none.High, 1) {
		t.Errorf("a test without bounds has %g to %g", none.Low, none.High)
	}
	for _, x := range []verdict.Test{{Relation: "delta", Estimate: num(1)}, {Relation: "gain", Stop: stats.Passed}} {
		d := &ledger.Decision{Rules: []verdict.Rule{{Comparisons: []verdict.Comparison{{Test: &x}}}}}
		must.Equal(t, "no relative change", len(EffectsOf(d)), 0)
	}
}

// TestSlower: one session that shows a metric to be worse is no notice, and two in a row are.
func TestSlower(t *testing.T) {
	s := State{Good: version(0), Anchor: version(0)}
	for i, c := range []struct {
		high   float64
		notice bool
	}{{-0.01, false}, {0.01, false}, {-0.01, false}, {-0.01, true}, {0.01, false}} {
		x := sessions("good pass")
		x[0].Effects[0].High = c.high
		w := night(1, ledger.NightUndecided, "one")
		w.Good, w.Time = version(0), time.Unix(int64(i), 0)
		s = s.After(w, x)
		must.Equal(t, "notice", len(s.Shifted()) > 0, c.notice)
	}
}
