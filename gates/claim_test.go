package gates

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// TestClaimed: the outcomes of a hypothesis.
func TestClaimed(t *testing.T) {
	for _, c := range []struct {
		rule, want, says string
		change           func(f *Feature)
	}{
		{"chat.tg.change >= 0.10", Confirmed, "lower bound +13.9%", func(*Feature) {}},
		{"chat.tg.change >= 0.50", Refuted, "upper bound +27.8%", func(*Feature) {}},
		{"chat.tg.change >= 0.209", Unsettled, "bounds", func(*Feature) {}},
		{"chat.tg >= 32", Confirmed, "lower bound", func(*Feature) {}},
		{"chat.tg.change >= 0.10", Unsettled, "no launch of f", func(f *Feature) { f.Candidate.Launches = nil }},
		{"chat.tg.change >= 0.10", Unsettled, "it died", func(f *Feature) { f.Broken, f.Cause = verdict.Error, died("it died") }},
		{"chat.tg.change >= 0.10", Unsettled, "1 launch per arm", func(f *Feature) { f.Candidate.Launches = f.Candidate.Launches[:1] }},
	} {
		outcome, rule := Claimed(compiled(t, c.rule), nil, with(c.change), usual)
		if outcome != c.want || !strings.Contains(verdict.Semicolons(rule.Reasons), c.says) || rule.Role != "hypothesis" || rule.Decides {
			t.Errorf("%s: %s, %q, %+v", c.rule, outcome, verdict.Semicolons(rule.Reasons), rule)
		}
		if len(rule.Comparisons) > 0 && rule.Comparisons[0].Test.Pass != 0.002 {
			t.Errorf("%+v", rule.Comparisons[0].Test)
		}
	}
	for _, rule := range []*plans.Rule{nil, {}} {
		if outcome, decided := Claimed(rule, nil, full(), usual); outcome != Unsettled || decided.Verdict.Unlocks() {
			t.Errorf("%s %+v", outcome, decided)
		}
	}
	// The best of five has five chances to be confirmed by luck.
	s := usual
	s.Alternatives = 5
	if _, rule := Claimed(compiled(t, "chat.tg.change >= 0.10"), nil, full(), s); rule.Comparisons[0].Test.Pass != 0.002/5 {
		t.Errorf("%+v", rule.Comparisons[0].Test)
	}
	// A criterion on the same metric is one of two that must hold: both have its bounds. One on
	// another quantity changes nothing.
	same, other := compiled(t, "chat.tg.change >= 0.50"), compiled(t, "chat.tg >= 20")
	decided := Decide([]*plans.Rule{same, other}, full(), usual)[0].Comparisons[0].Test
	_, rule := Claimed(compiled(t, "chat.tg.change >= 0.10"), []*plans.Rule{same, other}, full(), usual)
	if test := rule.Comparisons[0].Test; test.Fail != decided.Fail || *test.Low != *decided.Low || *test.High != *decided.High {
		t.Errorf("%+v, and its criterion %+v", test, decided)
	}
	_, rule = Claimed(compiled(t, "chat.tg.change >= 0.10"), []*plans.Rule{other, other}, full(), usual)
	if test := rule.Comparisons[0].Test; test.Fail == decided.Fail {
		t.Errorf("%+v", test)
	}
	// What broke twice refutes nothing, though it is a fail.
	crashed := with(func(f *Feature) { f.Broken, f.Cause = verdict.Fail, verdict.New(code.CrashedAgain) })
	if outcome, rule := Claimed(compiled(t, "chat.tg.change >= 0.10"), nil, crashed, usual); outcome != Unsettled || rule.Verdict != verdict.Fail {
		t.Errorf("%s of %+v", outcome, rule)
	}
	if got := Decide(nil, full(), usual); len(got) != 0 || Open(got) != nil {
		t.Errorf("%+v", got)
	}
}

// TestAlternatives: each of several candidates for one place gets its share of the chance
// of a false pass.
func TestAlternatives(t *testing.T) {
	s := noiseless("chat.tg")
	s.Noise["chat.tg"] = verdict.Noise{Gap: 1e-9} // of starts that are known to be alike
	one := s
	s.Alternatives = 4
	rule := compiled(t, "chat.tg >= 38")
	alone, among := Decide([]*plans.Rule{rule}, full(), one)[0], Decide([]*plans.Rule{rule}, full(), s)[0]
	if test := among.Comparisons[0].Test; test.Pass != 0.0005 || test.Fail != 0.015 || !slices.Equal(test.Share, []verdict.Share{{Of: verdict.ShareAlternatives, N: 4}}) {
		t.Errorf("%+v", test)
	}
	if alone.Verdict != verdict.Pass || among.Verdict != verdict.Inconclusive {
		t.Errorf("alone %s, among four %s: %q", alone.Verdict, among.Verdict, verdict.Lines(among.Reasons))
	}
}
