package steps

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const choosePlan = `
plan "v" {}
engine "embedded" "tiny" {}
engine "embedded" "wide" { settings = { threads = 2 } }
knob "a" {
  default = "off"
  value "off" {}
  value "on" { env = { A = "on" } }
}
knob "size" {
  default = "none"
  value "none" {}
  value "small" { settings = { layers = 3 } }
  value "large" { settings = { layers = 4 } }
}
workload "w" {
  prompt_tokens = 16
  output_tokens = 8
}
protocol "p" {
  level "benchmark" { workloads = [workload.w] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
phase "one" {
  feature "sized" {
    set    = { a = "on" }
    choose = { size = ["small", "large"] }
    criterion "c" { rule = "w.tg.gain >= 0.1" }
    confirm { engine = engine.embedded.wide }
  }
  feature "stacked" {
    set       = { a = "off" }
    builds_on = accepted
    criterion "c" { rule = "w.tg.gain >= 0.1" }
  }
  feature "child" {
    set       = { a = "off" }
    builds_on = feature.sized
    criterion "c" { rule = "w.tg.gain >= 0.1" }
  }
}
`

// scopeOf is a scope over some outcomes and locks.
func scopeOf(outcomes map[string]*ledger.Decision, locked map[string]verdict.Reason) *runtime.Scope {
	return &runtime.Scope{
		Outcome:  func(id string) *ledger.Decision { return outcomes[id] },
		LockedBy: func(id string) verdict.Reason { return locked[id] },
	}
}

// because is a fact of which only the words are told apart.
func fact(words string) verdict.Reason { return verdict.New(code.Broken, verdict.Text("error", words)) }

// TestArmsOfChoices: alternatives are measured against the feature's parent, what
// won is confirmed on the other engine and built on, and nothing of that is known
// before it is decided.
func TestArmsOfChoices(t *testing.T) {
	l := labOf(t, choosePlan)
	sized := l.Plan.Feature("sized")
	outcomes := map[string]*ledger.Decision{}
	s := scopeOf(outcomes, nil)
	for i, value := range []string{"small", "large"} {
		a, err := l.armsOf(s, sized.Alternatives[i])
		if err != nil || a.candidate.Knobs["size"] != value || a.candidate.Knobs["a"] != "on" || a.parent.Name != "baseline" || a.parent.Knobs["size"] != "none" {
			t.Errorf("%s: %+v %v", value, a, err)
		}
	}
	confirm := sized.Confirm[0]
	for _, f := range []*plans.Feature{sized, confirm, l.Plan.Feature("stacked"), l.Plan.Feature("child")} {
		if _, err := l.armsOf(s, f); !errors.Is(err, runtime.ErrUndecided) {
			t.Errorf("%s before anything is decided: %v", f.Name, err)
		}
	}
	won := map[string]string{"a": "on", "size": "large"}
	outcomes["feature.sized.first"] = &ledger.Decision{Verdict: "pass", Variant: won}
	a, err := l.armsOf(s, confirm)
	if err != nil || a.candidate.Knobs["size"] != "large" || a.candidate.Engine != "embedded.wide" || a.parent.Engine != "embedded.wide" || a.root.Engine != "embedded.wide" {
		t.Errorf("the confirmation's arms are %+v %+v %+v, %v", a.candidate, a.parent, a.root, err)
	}
	if first, err := l.armsOf(s, sized); err != nil || first.candidate.Name != "sized[large]" || first.candidate.Key == a.candidate.Key || first.parent.Key == a.parent.Key {
		t.Errorf("on the first engine: %+v, %v", first.candidate, err)
	}
	if why, err := l.confirmsNothing(s, confirm, a.candidate); !why.IsZero() || err != nil {
		t.Errorf("another engine is refused: %+v %v", why, err)
	}
	same := labOf(t, strings.Replace(choosePlan, "threads = 2", "layers = 6", 1))
	b, err := same.armsOf(s, same.Plan.Feature("sized").Confirm[0])
	if err != nil {
		t.Fatal(err)
	}
	if why, err := same.confirmsNothing(s, same.Plan.Feature("sized").Confirm[0], b.candidate); !why.Equal(verdict.New(code.ConfirmsNothing, verdict.Text("engine", "embedded.wide"), verdict.Text("first", "embedded.tiny")).On("sized[large]")) || err != nil {
		t.Errorf("an engine that its knobs make the first one: %+v %v", why, err)
	}
	outcomes["feature.sized"] = &ledger.Decision{Kind: "feature", Verdict: "pass", Accepted: true, Variant: won}
	for _, name := range []string{"stacked", "child"} {
		a, err := l.armsOf(s, l.Plan.Feature(name))
		if err != nil || a.parent.Knobs["size"] != "large" || a.parent.Knobs["a"] != "on" || a.candidate.Knobs["a"] != "off" {
			t.Errorf("%s is built on %+v, %v", name, a.parent, err)
		}
	}
	outcomes["feature.sized"].Accepted = false
	if a, err := l.armsOf(s, l.Plan.Feature("stacked")); err != nil || a.parent.Name != "baseline" {
		t.Errorf("a rejected choice is in the stack: %+v, %v", a.parent, err)
	}
	outcomes["feature.sized.first"].Variant = map[string]string{"size": "huge"}
	if _, err := l.armsOf(s, sized); err == nil || errors.Is(err, runtime.ErrUndecided) {
		t.Errorf("a choice that the plan does not offer any more: %v", err)
	}
}

// TestChoices: which alternative wins, and what that makes of the feature.
func TestChoices(t *testing.T) {
	l := labOf(t, choosePlan)
	d := &decideChoice{lab: l, feature: l.Plan.Feature("sized")}
	for _, c := range []struct {
		name  string
		of    string // verdict and gain in per cent of each, "-" where it is missing
		want  verdict.Verdict
		best  int
		words string
	}{
		{"one passes", "pass 31, fail 2", verdict.Pass, 0, "v0 wins +31.0% in w.tg over all launches; v1 fail +2.0%"},
		{"the better of two", "pass 12, pass 31", verdict.Pass, 1, "v1 wins +31.0% in w.tg over all launches; v0 pass +12.0%"},
		{"the first of equals", "pass 12, pass 12", verdict.Pass, 0, "v0 wins"},
		{"passing counts, not the gain", "inconclusive 80, pass 12", verdict.Pass, 1, "v1 wins +12.0% in w.tg over all launches; v0 inconclusive +80.0%"},
		{"a known gain before none", "pass -, pass 1", verdict.Pass, 1, "v1 wins"},
		{"no gain is known", "pass -, pass -", verdict.Pass, 0, "first in the plan's order"},
		{"all fail", "fail -3, fail 1", verdict.Fail, 1, "no alternative of size passes: v1 fail +1.0%, v0 fail -3.0% (w.tg over all launches); what follows is of sized[v1]"},
		{"one is open", "fail 9, inconclusive 4", verdict.Inconclusive, 1, "no alternative"},
		{"one drops out", "invalid -, fail 1", verdict.Fail, 1, "v0 invalid"},
		{"one drops out of three", "invalid -, fail 1, inconclusive 0", verdict.Inconclusive, 2, "v2 inconclusive +0.0%"},
		{"the other passes", "invalid -, pass 1", verdict.Pass, 1, "v0 invalid"},
		{"all drop out", "invalid -, invalid -", verdict.Invalid, 0, "no alternative"},
		{"one broke", "error -, fail 1", verdict.Error, 1, "v0 error"},
		{"one broke, one dropped out", "invalid -, error -", verdict.Error, 0, "no alternative"},
		{"one broke, another passes", "error -, pass 1", verdict.Pass, 1, "v0 error"},
		{"an unknown word", "great 9, fail 1", verdict.Error, 1, "no alternative"},
		{"which way a small one goes", "fail -0.01, fail -5", verdict.Fail, 0, "v0 fail -0.01%"},
	} {
		var all []*alternative
		for i, of := range strings.Split(c.of, ", ") {
			word, gain, _ := strings.Cut(of, " ")
			value := fmt.Sprint("v", i)
			x := &alternative{
				feature:  &plans.Feature{Name: "sized[" + value + "]", Of: "sized", Set: map[string]string{"size": value}},
				decision: &ledger.Decision{Verdict: verdict.Verdict(word)},
			}
			if gain != "-" {
				var percent float64
				if _, err := fmt.Sscan(gain, &percent); err != nil {
					t.Fatal(err)
				}
				percent /= 100
				x.gain = &percent
			}
			all = append(all, x)
		}
		got, best := verdictOf(all), better(all)
		if got != c.want || best != all[c.best] {
			t.Errorf("%s: %s by %s", c.name, got, best.feature.Name)
		}
		if words := tell.Line(d.reason(all, best, got)); !strings.Contains(words, c.words) {
			t.Errorf("%s: says %q, want %q", c.name, words, c.words)
		}
	}
}
