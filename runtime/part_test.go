package runtime

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestPart: a phase names its steps and features by what they are, whatever words
// people named them by.
func TestPart(t *testing.T) {
	step, feature := StepPart(&plans.Block{Kind: "exec", Name: "build: pass"}), FeaturePart(&plans.Feature{Name: "gemm"})
	below := verdict.New(code.Outcome).On("gemm").Is(verdict.Invalid)
	for _, c := range []struct {
		got     verdict.Reason
		code    code.Kind
		subject string
		verdict verdict.Verdict
		causes  []verdict.Reason
	}{
		{step.Outcome(verdict.Pass), code.Step.Kind, "exec build: pass", verdict.Pass, nil},
		{step.AloneOutcome(verdict.Fail), "step.alone", "exec build: pass", verdict.Fail, nil},
		{step.NotRun(below), code.StepNotRun.Kind, "exec build: pass", "", []verdict.Reason{below}},
		{feature.Outcome(verdict.Invalid), code.Feature.Kind, "gemm", verdict.Invalid, nil},
		{feature.AloneOutcome(verdict.Error), "feature.alone", "gemm", verdict.Error, nil},
		{feature.NotRun(below), code.FeatureNotRun.Kind, "gemm", "", []verdict.Reason{below}},
	} {
		if c.got.Kind != c.code || c.got.Subject != c.subject || c.got.Verdict != c.verdict || !reflect.DeepEqual(c.got.Causes, c.causes) {
			t.Errorf("%+v, want %+v", c.got, c)
		}
	}
}

// TestEventsCarryReasons: the event that ends a node has the reasons of its decision
// with all that they follow from, so whoever shows it can leave some of it out.
func TestEventsCarryReasons(t *testing.T) {
	kernels := ledger.Level{Name: "kernels", Verdict: verdict.Fail, Reasons: []verdict.Reason{verdict.Say("broken",
		"{error}",
		verdict.Text("error", "312 of 400 are wrong"))}}
	in := ledger.Input{Path: "gemm.tg.gain", Missing: kernels.Reason()}
	slow := ledger.Rule{Name: "slow", Role: verdict.RoleCriterion, Verdict: verdict.Invalid, Inputs: []ledger.Input{in}, Reasons: []verdict.Reason{in.Absence()}}
	decisions := map[string]ledger.Decision{
		"other":  {Verdict: verdict.Invalid, Levels: []ledger.Level{kernels}, Rules: []ledger.Rule{slow}, Reasons: []verdict.Reason{kernels.WithoutCauses()}},
		"joined": {Verdict: verdict.Invalid, Reasons: []verdict.Reason{verdict.New(code.NotConfirmed).On("vllm.prod").Is(verdict.Invalid).From(slow.Reason())}},
		"plain":  {Verdict: verdict.Pass},
	}
	g := graphOf(t, node("other", KindCriteria), node("joined", KindFeature, Need{"other", Settled}), node("plain", KindStep))
	var mu sync.Mutex
	got := map[string][]verdict.Reason{}
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
			got[ev.Node] = ev.Reasons
		}
	}
	execute(t, r)
	for id, d := range decisions {
		if !reflect.DeepEqual(got[id], d.Why()) {
			t.Errorf("%s:\n%+v, want\n%+v", id, got[id], d.Why())
		}
	}
	missing := got["joined"][0].Causes[0].Causes[0]
	if missing.Kind != code.Missing.Kind || missing.Subject != in.Path || !missing.Causes[0].Equal(kernels.Reason()) {
		t.Errorf("%+v", missing)
	}
}
