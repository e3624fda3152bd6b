package decide

import (
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Each cause of an inconclusive verdict has a next step of its own, with its numbers.
func TestNext(t *testing.T) {
	rule := func(test *verdict.Test, inputs ...verdict.Input) *ledger.Decision {
		return &ledger.Decision{Kind: ledger.KindFeature, Verdict: verdict.Inconclusive, Rules: []verdict.Rule{{
			Name: "speed", Verdict: verdict.Inconclusive, Decides: true, Inputs: inputs,
			Comparisons: []verdict.Comparison{{Verdict: verdict.Inconclusive, Test: test}},
		}}}
	}
	beside := func(c code.Code) *ledger.Decision {
		return rule(&verdict.Test{Values: []float64{1, 2, 3, 4}, First: 4, Beside: []verdict.Reason{
			verdict.New(code.Floored), verdict.New(c, verdict.Int("launches", 12), verdict.Num("spread", 0.02, "share")),
		}})
	}
	slept := verdict.New(code.WokenLate)
	waits := verdict.New(code.Level).On("benchmark").Is(verdict.Inconclusive).From(verdict.New(code.MachineDisturbed).From(slept))
	disturbed := &ledger.Decision{Verdict: verdict.Inconclusive, Reasons: []verdict.Reason{
		waits, verdict.New(code.Rule).On("decode").From(waits),
	}}
	if next := Next(disturbed); len(next) != 1 || len(next[0].Causes) != 1 {
		t.Errorf("one disturbance that two rules wait for is named as %+v", next)
	}
	passed := beside(code.Settles)
	passed.Verdict = verdict.Pass
	recorded := beside(code.Settles)
	recorded.Rules[0].Decides = false
	for name, tc := range map[string]struct {
		d    *ledger.Decision
		want []code.Code
		on   string
	}{
		"passed":                 {passed, nil, ""},
		"more launches":          {beside(code.Settles), []code.Code{code.NextLaunches}, "speed"},
		"too great a spread":     {beside(code.SettlesNever), []code.Code{code.NextSpread}, "speed"},
		"one launch":             {rule(&verdict.Test{Values: []float64{1}, First: 4}), []code.Code{code.NextStarts}, "speed"},
		"a machine under load":   {disturbed, []code.Code{code.NextQuiet}, ""},
		"evidence":               {rule(nil, verdict.Input{Path: "chat.tg", Missing: verdict.New(code.NotLookedFor)}), []code.Code{code.NextEvidence}, "chat.tg"},
		"evidence of a level":    {&ledger.Decision{Verdict: verdict.Inconclusive, Levels: []ledger.Level{{Name: "kernels", Verdict: verdict.Inconclusive}}}, []code.Code{code.NextEvidence}, "kernels"},
		"a criterion that waits": {recorded, nil, ""},
	} {
		next := Next(tc.d)
		var codes []code.Code
		for _, r := range next {
			codes = append(codes, r.Code)
		}
		if !slices.Equal(codes, tc.want) || len(next) > 0 && next[0].Subject != tc.on {
			t.Errorf("%s: %+v, want %v on %q", name, next, tc.want, tc.on)
		}
		if len(next) > 0 && next[0].Code == code.NextLaunches && next[0].Args["spread"].Number == nil {
			t.Errorf("%s: no spread in %+v", name, next[0])
		}
	}
}
