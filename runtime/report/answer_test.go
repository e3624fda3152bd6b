package report

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestAnswer: the sentence has the stack's gain where one session launched both ends, counts
// ports, blames the gate that locks others instead of its port, and names garbage.
func TestAnswer(t *testing.T) {
	s := stacked(t)
	if got, want := AnswerOf(s.st, time.Now()).String(), "2 of 3 ports accepted; head is inconclusive"; got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	s = newStory(t)
	s.nodes = []string{"baseline", "feature.cache", "feature.wip", "feature.draft", "phase.p", "feature.sinks", "phase.q"}
	s.begin("r1")
	s.add(baselineOf(set()))
	base := s.launches("s-1", "baseline", set(), 20, 20.4, 19.8, 20.1)
	cache := s.launches("s-1", "cache", set("cache=on"), 440, 445, 436, 442)
	wip := s.launches("s-1", "wip", set("moe=routed"), 600, 610, 590, 604)
	s.feature("cache", true, set("cache=on"), "baseline", base, cache, 20.95, 20.01)
	s.feature("wip", false, set("moe=routed"), "baseline", base, wip, 29, 28, func(d *ledger.Decision) {
		d.Verdict, d.Launches, d.Rules = verdict.Invalid, append(base, wip...), nil
		d.Reasons = []verdict.Reason{verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).From(verdict.New(code.AnswersGarbage).On("wip"))}
	})
	s.feature("draft", false, set("head=mxfp4"), "baseline", base, base, -0.2, -0.3, func(d *ledger.Decision) { d.Verdict = verdict.Fail })
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{Node: "phase.p", Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: verdict.Fail}})
	cause := verdict.New(code.Outcome).On("phase.p").Is(verdict.Fail)
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{Verdict: verdict.Fail, Reason: verdict.New(code.Finished), Locked: map[string]verdict.Reason{"feature.sinks": cause, "phase.q": cause}}})
	want := "Decode 22× the baseline (at least 21×): 1 of 4 ports accepted; p failed and locks sinks; wip is fast but answers garbage"
	if got := AnswerOf(s.st, time.Now()).String(); got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
	short := map[string]string{}
	for _, r := range Rows(s.st) {
		short[r.Node] = Short(r)
	}
	if short["feature.cache"] != "" || short["feature.wip"] != "answers garbage" || short["feature.sinks"] != "locked by p" {
		t.Errorf("%q", short)
	}
}

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
