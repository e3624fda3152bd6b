package gates

import (
	"fmt"
	"math"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// TestSettingsAreRefused: nothing is decided by levels that nobody calibrated.
func TestSettingsAreRefused(t *testing.T) {
	for _, s := range []Settings{{}, {FalsePass: 0.3, FalseFail: 0.05, Min: 3, Max: 8}, {FalsePass: 0.01, FalseFail: 0.05, Min: 3, Max: 99}, {FalsePass: 0.01, FalseFail: 0.05, Max: -1}} {
		if got := Decide([]*plans.Rule{compiled(t, "chat.tg.gain >= 0.1")}, full(), s)[0]; got.Verdict != verdict.Invalid || len(got.Reasons) != 1 {
			t.Errorf("%+v: %+v", s, got)
		}
	}
}

// TestCountsWait: a number of launches or requests that is not reached yet is
// waited for, and a crash is not.
func TestCountsWait(t *testing.T) {
	crashed := with(func(f *Feature) { set(&f.Candidate, 0, "engine.crashes", "median", 1) })
	for _, c := range []struct {
		rule string
		ev   *Evidence
		max  int
		want verdict.Verdict
		open bool
	}{
		{"chat.tg.n >= 6", full(), 8, "inconclusive", true},
		{"chat.tg.n >= 6", full(), 4, "fail", false},
		{"chat.tg.n >= 4", full(), 8, "pass", false},
		{"chat.tg.base.n_requests > 50", full(), 8, "inconclusive", true},
		{"engine.crashes == 0", crashed, 8, "fail", false},
		{"engine.crashes == 0", full(), 8, "pass", false},
	} {
		s := usual
		s.Max = c.max
		got := Decide([]*plans.Rule{compiled(t, c.rule)}, c.ev, s)[0]
		if got.Verdict != c.want || (len(got.Open) > 0) != c.open {
			t.Errorf("%s of %d: %s, open %v: %q", c.rule, c.max, got.Verdict, got.Open, tell.Lines(got.Reasons))
		}
	}
}

// TestNoiseIsAFloor that widens and never narrows, of what a feature's session
// knows before what the settings do, and of 8 degrees of freedom at least.
func TestNoiseIsAFloor(t *testing.T) {
	rule := compiled(t, "chat.tg.gain >= 0.10")
	for _, c := range []struct {
		settings, feature map[string]Noise
		floor             float64
		first             int
	}{
		{nil, nil, 0, 4},
		{map[string]Noise{"chat.tg": {SD: 0.02, DF: 8}}, nil, 0.02, 3},
		{map[string]Noise{"chat.tg": {SD: 0.02, DF: 7.9}}, nil, 0, 4},
		{map[string]Noise{"chat.tg": {SD: math.NaN(), DF: 9}}, nil, 0, 4},
		{map[string]Noise{"chat.tg": {SD: 0.02, DF: math.NaN()}}, nil, 0, 4},
		{map[string]Noise{"chat.ttft": {SD: 0.02, DF: 9}}, nil, 0, 4},
		{map[string]Noise{"chat.tg": {SD: 0.02, DF: 9}}, map[string]Noise{"chat.tg": {SD: 0.03, DF: 12}}, 0.03, 3},
		{map[string]Noise{"chat.tg": {SD: 0.02, DF: 9}}, map[string]Noise{}, 0, 4},
	} {
		s := usual
		s.Noise = c.settings
		got := Decide([]*plans.Rule{rule}, with(func(f *Feature) { f.Noise = c.feature }), s)[0]
		test := got.Comparisons[0].Test
		if test.Floor != c.floor || test.First != c.first || test.Plan[0] != c.first {
			t.Errorf("%+v: %+v", c, test)
		}
		if least := c.floor * math.Sqrt(2/float64(test.Looks[0].N)); test.Looks[0].SE < least-1e-12 {
			t.Errorf("%+v: se %v is less than %v", c, test.Looks[0].SE, least)
		}
	}
	// Of raw values and of other statistics no noise is kept.
	s := usual
	s.Noise = map[string]Noise{"chat.tg": {SD: 0.02, DF: 9}}
	for _, text := range []string{"chat.tg.delta > 1", "chat.tg.max > 1", "chat.tg.cv < 1"} {
		if test := Decide([]*plans.Rule{compiled(t, text)}, full(), s)[0].Comparisons[0].Test; test.Floor != 0 || test.First != 4 {
			t.Errorf("%s: %+v", text, test)
		}
	}
	if test := Decide([]*plans.Rule{rule}, with(func(f *Feature) { f.Max = 6 }), usual)[0].Comparisons[0].Test; fmt.Sprint(test.Plan) != "[4 6]" {
		t.Errorf("a feature's own most: %v", test.Plan)
	}
}
