package report

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestBrief(t *testing.T) {
	because := func(text string) []verdict.Reason {
		return []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", text))}
	}
	rule := func(name string, v verdict.Verdict, reasons ...verdict.Reason) ledger.Rule {
		return ledger.Rule{Name: name, Role: verdict.RoleCriterion, Verdict: v, Decides: true, Reasons: reasons}
	}
	level := func(name string, v verdict.Verdict, why ...verdict.Reason) ledger.Level {
		return ledger.Level{Name: name, Verdict: v, Reasons: why}
	}
	kernels := level("kernels", verdict.Fail, because("312 of 400 are wrong")...)
	unread := rule("decode", verdict.Invalid, verdict.New(code.Missing).On("chat.tg").From(kernels.Reason()))
	decode, memory := rule("decode", verdict.Pass, because("enough")...), rule("memory", verdict.Fail, because("2 GB")...)
	died := verdict.New(code.EngineDied)
	alternatives := []ledger.Alternative{{Name: "spec[short]"}, {Name: "spec[long]", Chosen: true}}
	not := verdict.New(code.NotConfirmed).On("vllm.prod").Is(verdict.Invalid).From(kernels.Reason())
	for want, d := range map[string]ledger.Decision{
		"decode: enough": {Kind: ledger.KindFeature, Verdict: verdict.Pass, Rules: []ledger.Rule{decode}},
		// What decided comes first, whatever the order in the plan.
		"memory: 2 GB, +1 more":                  {Kind: ledger.KindFeature, Verdict: verdict.Fail, Rules: []ledger.Rule{decode, memory}},
		"2 rules":                                {Kind: ledger.KindGate, Verdict: verdict.Pass, Rules: []ledger.Rule{decode, decode}},
		"spec[long] wins: decode: enough":        {Kind: ledger.KindFeature, Verdict: verdict.Pass, Rules: []ledger.Rule{decode}, Alternatives: alternatives},
		"decode: enough, confirmed on vllm.prod": {Kind: ledger.KindFeature, Verdict: verdict.Pass, Rules: []ledger.Rule{decode}, Confirmations: []ledger.Confirmation{{Engine: "vllm.prod", Verdict: verdict.Pass}}},
		not.String():                             {Kind: ledger.KindFeature, Verdict: verdict.Invalid, Rules: []ledger.Rule{decode}, Confirmations: []ledger.Confirmation{{Engine: "vllm.prod", Verdict: verdict.Invalid, Reason: not}}},
		"memory: 2 GB":                           {Kind: ledger.KindFeature, Verdict: verdict.Fail, Rules: []ledger.Rule{memory}, Confirmations: []ledger.Confirmation{{Engine: "vllm.prod"}}},
		// The feature has the cause, and its gate the level.
		"level kernels failed: 312 of 400 are wrong": {Kind: ledger.KindFeature, Verdict: verdict.Invalid, Levels: []ledger.Level{level("smoke", verdict.Pass), kernels}, Rules: []ledger.Rule{unread}},
		"decode: level kernels failed":               {Kind: ledger.KindGate, Verdict: verdict.Invalid, Rules: []ledger.Rule{unread}},
		"smoke, kernels":                             {Kind: ledger.KindQualify, Verdict: verdict.Pass, Levels: []ledger.Level{level("smoke", verdict.Pass), level("kernels", verdict.Pass)}},
		died.String():                                {Kind: ledger.KindFeature, Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.New(code.Level).On("smoke").From(died)}},
		"nothing came":                               {Kind: ledger.KindStep, Verdict: verdict.Fail, Reasons: because("nothing came")},
		"":                                           {Kind: ledger.KindPhase, Verdict: verdict.Pass, Reasons: because("step exec make: pass")},
	} {
		if got := Brief(&d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
