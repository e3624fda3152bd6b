package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/variant"
)

const variantPlan = `
plan "v" {}
engine "embedded" "tiny" {
  env      = { KEEP = "1", DROP = "1" }
  settings = { threads = 2, layers = 3 }
  args     = ["--seed", "1"]
}
knob "a" {
  default = "off"
  value "off" {}
  value "on" {
    env      = { DROP = null, A = "on" }
    settings = { threads = null, layers = 4 }
    args     = ["--served-model-name", "a"]
  }
}
knob "b" {
  default = "off"
  value "off" {}
  value "on" { env = { DROP = "again" } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "correctness" { answers = "unchecked" }
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "first" {
    set = { a = "on" }
    criterion "c" { rule = "w.tg.gain >= 0" }
  }
  feature "second" {
    set       = { b = "on" }
    builds_on = accepted
    criterion "c" { rule = "w.tg.gain >= 0" }
  }
  feature "third" {
    set       = { b = "on" }
    builds_on = feature.first
    criterion "c" { rule = "w.tg.gain >= 0" }
  }
}
`

// registry is what plans of these tests are written in.
func registry() *plans.Registry {
	r := planstest.Registry()
	r.Levels = map[string]plans.Schema{plans.BenchmarkLevel: BenchmarkSchema}
	for name, k := range levels.Kinds {
		r.Levels[name] = k.Schema
	}
	variant.Register(r)
	return r
}

func labOf(t *testing.T, src string) *Lab {
	t.Helper()
	res := load.Bytes("plan.hcl", []byte(src), registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	must.Do(t, err)
	l := NewLab(res.Plan, g)
	l.Variants.KindVersions = map[string]string{"embedded": "test"}
	return l
}

// TestInterruptedQualification: an interrupt before anything was launched is an interrupt,
// and no outcome without a verdict.
func TestInterruptedQualification(t *testing.T) {
	l := labOf(t, variantPlan)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s := scopeOf(nil, nil)
	s.Node = &runtime.Node{ID: runtime.BaselineID, Kind: runtime.KindQualify}
	if d, err := (&qualify{lab: l}).Do(ctx, s); d != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestResolve(t *testing.T) {
	l := labOf(t, variantPlan)
	base, err := l.Variants.Baseline(nil)
	must.Do(t, err)
	if !maps.Equal(base.Spec.Env, map[string]string{"KEEP": "1", "DROP": "1"}) || len(base.Spec.Unset) > 0 {
		t.Errorf("baseline env %v, unset %v", base.Spec.Env, base.Spec.Unset)
	}
	on, err := l.Variants.Resolve(nil, "x", l.Variants.Plan.Baseline.Engine, map[string]string{"a": "on", "b": "off"})
	must.Do(t, err)
	if !maps.Equal(on.Spec.Env, map[string]string{"KEEP": "1", "A": "on"}) ||
		!slices.Equal(on.Spec.Unset, []string{"DROP"}) {
		t.Errorf("env %v, unset %v: null must unset", on.Spec.Env, on.Spec.Unset)
	}
	command := on.Spec.Command
	if slices.Contains(command, "--threads") || !slices.Contains(command, "4") || command[len(command)-1] != "a" {
		t.Errorf("command %v: want no threads, 4 layers, the knob's args last", command)
	}
	both, err := l.Variants.Resolve(nil, "x", l.Variants.Plan.Baseline.Engine, map[string]string{"a": "on", "b": "on"})
	must.Do(t, err)
	if both.Spec.Env["DROP"] != "again" || len(both.Spec.Unset) > 0 {
		t.Errorf("env %v, unset %v: a later knob may set what an earlier one unset", both.Spec.Env, both.Spec.Unset)
	}
	if base.Key == on.Key || on.Key == both.Key {
		t.Error("different variants have the same key")
	}
	if again, _ := l.Variants.Baseline(nil); again.Key != base.Key {
		t.Error("the same variant has two keys")
	}
	if _, err := l.Variants.Resolve(nil, "x", l.Variants.Plan.Baseline.Engine,
		map[string]string{"a": "maybe", "b": "on"}); err == nil {
		t.Error("an unknown knob value was resolved")
	}
}

// TestStack: what a feature builds on follows from what was accepted before it,
// and is unknown until that is settled.
func TestStack(t *testing.T) {
	l := labOf(t, variantPlan)
	second := l.Variants.Plan.Feature("second")
	outcomes := map[string]*ledger.Decision{}
	locked := map[string]verdict.Reason{}
	s := scopeOf(outcomes, locked)
	if _, err := l.Launches.Arms(s, second); !errors.Is(err, runtime.ErrUndecided) {
		t.Fatalf("error %v, want ErrUndecided", err)
	}
	outcomes["feature.first"] = &ledger.Decision{Verdict: "pass", Accepted: true}
	a, err := l.Launches.Arms(s, second)
	if err != nil || a.Parent.Knobs["a"] != "on" || a.Parent.Name != "accepted" || a.Candidate.Knobs["b"] != "on" ||
		a.Candidate.Knobs["a"] != "on" {
		t.Errorf("accepted: parent %+v, candidate %+v, %v", a.Parent, a.Candidate, err)
	}
	if len(a.Distinct(true)) != 3 || len(a.Distinct(false)) != 2 {
		t.Error("the baseline must be an arm of its own exactly when a rule asks for it")
	}
	outcomes["feature.first"] = &ledger.Decision{Verdict: "fail"}
	if a, err = l.Launches.Arms(s, second); err != nil || a.Parent.Name != "baseline" ||
		a.Candidate.Knobs["a"] != "off" {
		t.Errorf("rejected: parent %+v, candidate %+v, %v", a.Parent, a.Candidate, err)
	}
	must.Equal(t, "a baseline that is the parent is launched once", len(a.Distinct(true)), 2)
	delete(outcomes, "feature.first")
	locked["feature.first"] = fact("baseline is fail")
	if a, err = l.Launches.Arms(s, second); err != nil || a.Parent.Name != "baseline" {
		t.Errorf("locked: parent %+v, %v", a.Parent, err)
	}
	if _, err = l.Launches.Arms(s, l.Variants.Plan.Feature("third")); err == nil ||
		errors.Is(err, runtime.ErrUndecided) {
		t.Errorf("built on a feature that is locked: error %v, want one that says so", err)
	}
}

// scopeOf is a scope over some outcomes and locks.
func scopeOf(outcomes map[string]*ledger.Decision, locked map[string]verdict.Reason) *runtime.Scope {
	return &runtime.Scope{Outcomes: &runtime.NodeOutcomes{Decisions: outcomes, Locks: locked}}
}

// because is a fact of which only the words are told apart.
func fact(words string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Text("error", words))
}

// TestArmsOfChoices: alternatives are measured against the feature's parent, what
// won is confirmed on the other engine and built on, and nothing of that is known
// before it is decided.
func TestArmsOfChoices(t *testing.T) {
	l := labOf(t, planstest.ChoosePlan)
	sized := l.Variants.Plan.Feature("sized")
	outcomes := map[string]*ledger.Decision{}
	s := scopeOf(outcomes, nil)
	for i, value := range []string{"small", "large"} {
		a, err := l.Launches.Arms(s, sized.Alternatives[i])
		if err != nil || a.Candidate.Knobs["size"] != value || a.Candidate.Knobs["a"] != "on" ||
			a.Parent.Name != "baseline" || a.Parent.Knobs["size"] != "none" {
			t.Errorf("%s: %+v %v", value, a, err)
		}
	}
	confirm := sized.Confirm[0]
	for _, f := range []*plans.Feature{
		sized, confirm, l.Variants.Plan.Feature("stacked"),
		l.Variants.Plan.Feature("child"),
	} {
		if _, err := l.Launches.Arms(s, f); !errors.Is(err, runtime.ErrUndecided) {
			t.Errorf("%s before anything is decided: %v", f.Name, err)
		}
	}
	won := map[string]string{"a": "on", "size": "large"}
	outcomes["feature.sized.first"] = &ledger.Decision{Verdict: "pass", Variant: won}
	a, err := l.Launches.Arms(s, confirm)
	if err != nil || a.Candidate.Knobs["size"] != "large" || a.Candidate.Engine != "embedded.wide" ||
		a.Parent.Engine != "embedded.wide" || a.Root.Engine != "embedded.wide" {
		t.Errorf("the confirmation's arms are %+v %+v %+v, %v", a.Candidate, a.Parent, a.Root, err)
	}
	if first, err := l.Launches.Arms(s, sized); err != nil || first.Candidate.Name != "sized[large]" ||
		first.Candidate.Key == a.Candidate.Key || first.Parent.Key == a.Parent.Key {
		t.Errorf("on the first engine: %+v, %v", first.Candidate, err)
	}
	if sub, err := (&qualify{lab: l, feature: confirm}).subject(s); err != nil || !sub.spared.IsZero() {
		t.Errorf("another engine is refused: %+v %v", sub, err)
	}
	same := labOf(t, strings.Replace(planstest.ChoosePlan, "threads = 2", "layers = 6", 1))
	sub, err := (&qualify{lab: same, feature: same.Variants.Plan.Feature("sized").Confirm[0]}).subject(s)
	if err != nil || !sub.spared.Equal(verdict.Say("session.confirms_nothing", "",
		verdict.Text("engine", "embedded.wide"), verdict.Text("first", "embedded.tiny")).On("sized[large]")) {
		t.Errorf("an engine that its knobs make the first one: %+v %v", sub, err)
	}
	outcomes["feature.sized"] = &ledger.Decision{Kind: "feature", Verdict: "pass", Accepted: true, Variant: won}
	for _, name := range []string{"stacked", "child"} {
		a, err := l.Launches.Arms(s, l.Variants.Plan.Feature(name))
		if err != nil || a.Parent.Knobs["size"] != "large" || a.Parent.Knobs["a"] != "on" ||
			a.Candidate.Knobs["a"] != "off" {
			t.Errorf("%s is built on %+v, %v", name, a.Parent, err)
		}
	}
	outcomes["feature.sized"].Accepted = false
	if a, err := l.Launches.Arms(s, l.Variants.Plan.Feature("stacked")); err != nil || a.Parent.Name != "baseline" {
		t.Errorf("a rejected choice is in the stack: %+v, %v", a.Parent, err)
	}
	outcomes["feature.sized.first"].Variant = map[string]string{"size": "huge"}
	if _, err := l.Launches.Arms(s, sized); err == nil || errors.Is(err, runtime.ErrUndecided) {
		t.Errorf("a choice that the plan does not offer any more: %v", err)
	}
}
