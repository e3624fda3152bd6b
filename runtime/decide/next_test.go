package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
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
	beside := func(c code.Kind) *ledger.Decision {
		return rule(&verdict.Test{Values: []float64{1, 2, 3, 4}, First: 4, Remarks: []verdict.Reason{
			verdict.Say("beside.floored", ""),
			verdict.Say(c, "", verdict.Int("launches", 12), verdict.Num("spread", 0.02, "share")),
		}})
	}
	slept := verdict.New(code.WokenLate)
	waits := verdict.New(code.Level).On("benchmark").Is(verdict.Inconclusive).
		From(verdict.New(code.MachineDisturbed).From(slept))
	disturbed := &ledger.Decision{Verdict: verdict.Inconclusive, Reasons: []verdict.Reason{
		waits, verdict.New(code.Rule).On("decode").From(waits),
	}}
	if next := Next(disturbed); len(next) != 1 || len(next[0].Causes) != 1 {
		t.Errorf("one disturbance that two rules wait for is named as %+v", next)
	}
	passed := beside(code.Settles.Kind)
	passed.Verdict = verdict.Pass
	recorded := beside(code.Settles.Kind)
	recorded.Rules[0].Decides = false
	for name, tc := range map[string]struct {
		d    *ledger.Decision
		want []code.Kind
		on   string
	}{
		"passed":             {passed, nil, ""},
		"more launches":      {beside(code.Settles.Kind), []code.Kind{"next.launches"}, "speed"},
		"too great a spread": {beside(code.SettlesNever.Kind), []code.Kind{"next.spread"}, "speed"},
		"one launch": {
			rule(&verdict.Test{Values: []float64{1}, First: 4}),
			[]code.Kind{"next.starts"},
			"speed",
		},
		"a machine under load": {disturbed, []code.Kind{"next.quiet"}, ""},
		"evidence": {
			rule(nil, verdict.Input{Path: "chat.tg", Missing: verdict.Say("launches.not_looked_for", "")}),
			[]code.Kind{code.NextEvidence.Kind},
			"chat.tg",
		},
		"evidence of a level": {
			&ledger.Decision{
				Verdict: verdict.Inconclusive,
				Levels:  []ledger.Level{{Name: "kernels", Verdict: verdict.Inconclusive}},
			},
			[]code.Kind{code.NextEvidence.Kind},
			"kernels",
		},
		"a criterion that waits": {recorded, nil, ""},
	} {
		next := Next(tc.d)
		var codes []code.Kind
		for _, r := range next {
			codes = append(codes, r.Kind)
		}
		if !slices.Equal(codes, tc.want) || len(next) > 0 && next[0].Subject != tc.on {
			t.Errorf("%s: %+v, want %v on %q", name, next, tc.want, tc.on)
		}
		if len(next) > 0 && next[0].Kind == "next.launches" && next[0].Values["spread"].Number == nil {
			t.Errorf("%s: no spread in %+v", name, next[0])
		}
	}
}

// TestNextOfStep: rows of a comparison get more launches from their step alone.
func TestNextOfStep(t *testing.T) {
	is := -0.66
	for step, want := range map[string]string{
		"frameworks": "step frameworks makes at most 4: allow more in its launches",
		"":           "the plan makes at most 4: allow more in the benchmark level or the decision block",
	} {
		args := []verdict.Arg{
			verdict.Num("gap", 0.1, "share"), verdict.Num("spread", 0.1, "share"),
			verdict.Int("launches", 9), verdict.Int("most", 4),
		}
		if step != "" {
			args = append(args, verdict.Text("step", step))
		}
		d := &ledger.Decision{Verdict: verdict.Inconclusive, Kind: ledger.KindGate, Rules: []verdict.Rule{{
			Name: "faster", Verdict: verdict.Inconclusive,
			Comparisons: []verdict.Comparison{{
				Verdict: verdict.Inconclusive,
				Test: &verdict.Test{
					Form: verdict.Ratio, Estimate: &is, Threshold: -0.8,
					Remarks: []verdict.Reason{verdict.New(code.Settles, args...)},
				},
			}},
		}}}
		next := Next(d)
		if len(next) != 1 || !strings.Contains(next[0].String(), want) {
			t.Errorf("%v, want %s", next, want)
		}
		must.Contain(t, step, next[0].String(),
			"faster: launches differ by 10%, too much to tell -66% from -80%. About 9")
	}
}
