package runtime

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestEventsHaveParts: the event that ends a node says what its reasons are of, also
// those that only the nodes below it know.
func TestEventsHaveParts(t *testing.T) {
	kernels := ledger.Level{Name: "kernels", Verdict: verdict.Fail, Reasons: []string{"312 of 400 are wrong"}}
	in := ledger.Input{Path: "gemm.tg.gain", Missing: kernels.Says()}
	slow := ledger.Rule{Name: "slow", Role: "criterion", Verdict: verdict.Invalid, Inputs: []ledger.Input{in}, Reasons: []string{in.Absence()}}
	rule := slow
	rule.Name, rule.Role = "x: pass: y", "rule"
	against := ledger.Decision{Verdict: verdict.Invalid, Levels: []ledger.Level{kernels}, Rules: []ledger.Rule{slow}, Reasons: []string{slow.Says()}}
	confirms := ledger.Confirmation{Engine: "vllm.prod", Node: "other", Verdict: verdict.Invalid, Reason: ledger.NotConfirmed("vllm.prod", verdict.Invalid, against.Reasons)}
	gemm, moe, build := &plans.Feature{Name: "gemm"}, &plans.Feature{Name: "moe"}, &plans.Block{Kind: "exec", Name: "build"}
	decisions := map[string]ledger.Decision{
		"build":  {Verdict: verdict.Pass},
		"gemm":   {Verdict: verdict.Invalid, Levels: []ledger.Level{kernels}, Reasons: []string{kernels.Line()}},
		"other":  against,
		"joined": {Verdict: verdict.Invalid, Confirmations: []ledger.Confirmation{confirms}, Reasons: []string{confirms.Reason, "criterion a: pass: no rule says so"}},
		"gate":   {Verdict: verdict.Invalid, Rules: []ledger.Rule{rule}, Reasons: []string{rule.Says()}},
		"end":    {Verdict: verdict.Invalid, Reasons: []string{"step exec build: pass", "feature gemm: invalid", "feature moe was not run: gemm is invalid", "feature moe: pass"}},
		"plain":  {Verdict: verdict.Fail, Reasons: []string{"step exec build: pass"}},
	}
	needs := []Need{{"build", Settled}, {"gemm", Settled}, {"moe", Settled}}
	g := graphOf(
		t,
		&Node{ID: "build", Kind: KindStep, StepBlock: build}, &Node{ID: "gemm", Kind: KindFeature, FeatureBlock: gemm},
		&Node{ID: "moe", Kind: KindFeature, FeatureBlock: moe, Needs: []Need{{"gemm", Passed}}},
		node("other", KindCriteria), node("joined", KindFeature, Need{"other", Settled}),
		node("gate", KindGate, needs...), node("end", KindPhase, needs...), node("plain", KindStep),
	)
	var mu sync.Mutex
	got := map[string][]ledger.Part{}
	r := runnerOf(g, newMemory(), func(n *Node) (Step, error) {
		return fakeStep{run: func(context.Context, *Scope) (*ledger.Decision, error) {
			d := decisions[n.ID]
			return &d, nil
		}}, nil
	})
	r.Observe = func(ev Event) {
		mu.Lock()
		defer mu.Unlock()
		if ev.Type == "node_done" {
			got[ev.Node] = ev.Parts
		}
	}
	execute(t, r)
	const short = "gemm.tg.gain: level kernels is fail"
	for id, want := range map[string][]ledger.Part{
		"build": nil, "plain": nil,
		"gemm":   {{Of: "level", Name: "kernels", Verdict: verdict.Fail}},
		"other":  {{Of: "criterion", Name: "slow", Verdict: verdict.Invalid, Brief: "criterion slow: invalid: " + short}},
		"joined": {{Of: "confirmation", Name: "vllm.prod", Verdict: verdict.Invalid, Brief: "not confirmed on engine.vllm.prod, where it is invalid: criterion slow: invalid: " + short}, {}},
		"gate":   {{Of: "rule", Name: "x: pass: y", Verdict: verdict.Invalid, Brief: "x: pass: y: invalid: " + short}},
		"end":    {{Of: "step", Name: "exec build", Verdict: verdict.Pass}, {Of: "feature", Name: "gemm", Verdict: verdict.Invalid}, {Of: "feature", Name: "moe"}, {}},
	} {
		if !reflect.DeepEqual(got[id], want) {
			t.Errorf("%s:\n%+v, want\n%+v", id, got[id], want)
		}
	}
}
