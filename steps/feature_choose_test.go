package steps

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
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
func scopeOf(outcomes map[string]*ledger.Decision, locked map[string]string) *runtime.Scope {
	return &runtime.Scope{
		Outcome:  func(id string) *ledger.Decision { return outcomes[id] },
		LockedBy: func(id string) string { return locked[id] },
	}
}

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
		if err != nil || a.candidate.knobs["size"] != value || a.candidate.knobs["a"] != "on" || a.parent.name != "baseline" || a.parent.knobs["size"] != "none" {
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
	if err != nil || a.candidate.knobs["size"] != "large" || a.candidate.engine != "embedded.wide" || a.parent.engine != "embedded.wide" || a.root.engine != "embedded.wide" {
		t.Errorf("the confirmation's arms are %+v %+v %+v, %v", a.candidate, a.parent, a.root, err)
	}
	if first, err := l.armsOf(s, sized); err != nil || first.candidate.name != "sized[large]" || first.candidate.key == a.candidate.key || first.parent.key == a.parent.key {
		t.Errorf("on the first engine: %+v, %v", first.candidate, err)
	}
	if why, err := l.confirmsNothing(s, confirm, a.candidate); why != "" || err != nil {
		t.Errorf("another engine is refused: %q %v", why, err)
	}
	same := labOf(t, strings.Replace(choosePlan, "threads = 2", "layers = 6", 1))
	b, err := same.armsOf(s, same.Plan.Feature("sized").Confirm[0])
	if err != nil {
		t.Fatal(err)
	}
	if why, err := same.confirmsNothing(s, same.Plan.Feature("sized").Confirm[0], b.candidate); !strings.Contains(why, "engine.embedded.wide is started just as engine.embedded.tiny is") || err != nil {
		t.Errorf("an engine that its knobs make the first one: %q %v", why, err)
	}
	outcomes["feature.sized"] = &ledger.Decision{Kind: "feature", Verdict: "pass", Accepted: true, Variant: won}
	for _, name := range []string{"stacked", "child"} {
		a, err := l.armsOf(s, l.Plan.Feature(name))
		if err != nil || a.parent.knobs["size"] != "large" || a.parent.knobs["a"] != "on" || a.candidate.knobs["a"] != "off" {
			t.Errorf("%s is built on %+v, %v", name, a.parent, err)
		}
	}
	outcomes["feature.sized"].Accepted = false
	if a, err := l.armsOf(s, l.Plan.Feature("stacked")); err != nil || a.parent.name != "baseline" {
		t.Errorf("a rejected choice is in the stack: %+v, %v", a.parent, err)
	}
	outcomes["feature.sized.first"].Variant = map[string]string{"size": "huge"}
	if _, err := l.armsOf(s, sized); err == nil || errors.Is(err, runtime.ErrUndecided) {
		t.Errorf("a choice that the plan does not offer any more: %v", err)
	}
}

// TestConfirmingNothingIsInTheKey: a confirmation that could only repeat what is
// known is another one as soon as the first engine is started otherwise, and the
// reverse, so that neither outcome is kept for the other.
func TestConfirmingNothingIsInTheKey(t *testing.T) {
	s := scopeOf(map[string]*ledger.Decision{
		"feature.sized.first": {Verdict: "pass", Variant: map[string]string{"a": "on", "size": "large"}},
	}, nil)
	keyOf := func(src string) string {
		l := labOf(t, src)
		keys, err := (&qualify{lab: l, feature: l.Plan.Feature("sized").Confirm[0]}).Keys(s)
		if err != nil {
			t.Fatal(err)
		}
		return keys.Measure
	}
	nothing := strings.Replace(choosePlan, "threads = 2", "layers = 6", 1)
	changed := strings.Replace(nothing, `"tiny" {}`, `"tiny" { settings = { threads = 2 } }`, 1)
	if keyOf(nothing) == keyOf(changed) {
		t.Error("a confirmation of nothing has the key of one on another engine")
	}
	if other := strings.Replace(choosePlan, `"tiny" {}`, `"tiny" { settings = { threads = 3 } }`, 1); keyOf(choosePlan) != keyOf(other) {
		t.Error("what the first engine is otherwise is part of the key of a confirmation on another")
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
		{"one passes", "pass 31, fail 2", verdict.Pass, 0, "v0 wins +31.0 % in w.tg over all launches; v1 fail +2.0 %"},
		{"the better of two", "pass 12, pass 31", verdict.Pass, 1, "v1 wins +31.0 % in w.tg over all launches; v0 pass +12.0 %"},
		{"the first of equals", "pass 12, pass 12", verdict.Pass, 0, "v0 wins"},
		{"passing counts, not the gain", "inconclusive 80, pass 12", verdict.Pass, 1, "v1 wins +12.0 % in w.tg over all launches; v0 inconclusive +80.0 %"},
		{"a known gain before none", "pass -, pass 1", verdict.Pass, 1, "v1 wins"},
		{"no gain is known", "pass -, pass -", verdict.Pass, 0, "first in the plan's order"},
		{"all fail", "fail -3, fail 1", verdict.Fail, 1, "no alternative of size passes: v1 fail +1.0 %, v0 fail -3.0 % (w.tg over all launches); what follows is of sized[v1]"},
		{"one is open", "fail 9, inconclusive 4", verdict.Inconclusive, 1, "no alternative"},
		{"one drops out", "invalid -, fail 1", verdict.Fail, 1, "v0 invalid"},
		{"one drops out of three", "invalid -, fail 1, inconclusive 0", verdict.Inconclusive, 2, "v2 inconclusive +0.0 %"},
		{"the other passes", "invalid -, pass 1", verdict.Pass, 1, "v0 invalid"},
		{"all drop out", "invalid -, invalid -", verdict.Invalid, 0, "no alternative"},
		{"one broke", "error -, fail 1", verdict.Error, 1, "v0 error"},
		{"one broke, one dropped out", "invalid -, error -", verdict.Error, 0, "no alternative"},
		{"one broke, another passes", "error -, pass 1", verdict.Pass, 1, "v0 error"},
		{"an unknown word", "great 9, fail 1", verdict.Error, 1, "no alternative"},
		{"which way a small one goes", "fail -0.01, fail -5", verdict.Fail, 0, "v0 fail -0.01 %"},
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
		if words := d.says(all, best, got); !strings.Contains(words, c.words) {
			t.Errorf("%s: says %q, want %q", c.name, words, c.words)
		}
	}
}

// TestConfirmed: a feature passes only where it passes on all engines, and says
// where it did not.
func TestConfirmed(t *testing.T) {
	l := labOf(t, strings.Replace(choosePlan, "confirm { engine = engine.embedded.wide }", "confirm { engine = engine.embedded.wide }\n    confirm { engine = engine.embedded.third }", 1)+"\nengine \"embedded\" \"third\" { settings = { threads = 3 } }\n")
	j := &joinConfirmed{lab: l, feature: l.Plan.Feature("sized")}
	for _, c := range []struct {
		name                string
		first, wide, third  verdict.Verdict
		want                verdict.Verdict
		says                string
		lockedByOtherReason bool
	}{
		{"everywhere", "pass", "pass", "pass", "pass", "confirmed on engine.embedded.wide|confirmed on engine.embedded.third", false},
		{"not on the first", "fail", "", "", "fail", "not tried on engine.embedded.wide: it is fail without that|not tried on engine.embedded.third", false},
		{"not on the second", "pass", "fail", "", "fail", "not confirmed on engine.embedded.wide, where it is fail: too slow|not tried on engine.embedded.third: it is fail", false},
		{"open on the third", "pass", "pass", "inconclusive", "inconclusive", "confirmed on engine.embedded.wide|not confirmed on engine.embedded.third, where it is inconclusive", false},
		{"broken on the third", "pass", "pass", "error", "error", "where it is error", false},
		{"locked for another reason", "pass", "", "pass", "invalid", "not confirmed on engine.embedded.wide: someone retracted it", true},
		{"not even open", "inconclusive", "", "", "inconclusive", "not tried", false},
	} {
		outcomes := map[string]*ledger.Decision{
			"feature.sized.first": {Node: "feature.sized.first", Verdict: c.first, Variant: map[string]string{"size": "large"}, Rules: []ledger.Rule{{Name: "c"}}, Reasons: []string{"criterion c: it is so"}},
		}
		locked := map[string]string{}
		for id, v := range map[string]verdict.Verdict{"feature.sized@wide": c.wide, "feature.sized@third": c.third} {
			if v == "" {
				locked[id] = "feature.sized.first is " + string(c.first)
				if c.lockedByOtherReason {
					locked[id] = "someone retracted it"
				}
				continue
			}
			outcomes[id] = &ledger.Decision{Node: id, Verdict: v, Reasons: []string{"too slow"}, Accepted: true}
		}
		s := scopeOf(outcomes, locked)
		got, err := j.Run(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Verdict != c.want || got.Accepted != (c.want == verdict.Pass) || got.Variant["size"] != "large" || len(got.Rules) != 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
		for i, says := range strings.Split(c.says, "|") {
			if !slices.ContainsFunc(got.Reasons, func(r string) bool { return strings.Contains(r, says) }) {
				t.Errorf("%s: reason %d of %q is not %q", c.name, i, got.Reasons, says)
			}
		}
		if got.Reasons[len(got.Reasons)-1] != "criterion c: it is so" {
			t.Errorf("%s: the reasons of the first engine are lost: %q", c.name, got.Reasons)
		}
		if outcomes["feature.sized.first"].Verdict != c.first || outcomes["feature.sized.first"].Accepted {
			t.Errorf("%s: the first decision was changed", c.name)
		}
	}
	// What it rests on is part of its key.
	keys := map[string]bool{}
	for _, v := range []verdict.Verdict{"pass", "fail"} {
		for _, third := range []map[string]string{{}, {"feature.sized@third": "it is so"}} {
			outcomes := map[string]*ledger.Decision{"feature.sized.first": {Verdict: "pass"}, "feature.sized@wide": {Verdict: v}}
			if len(third) == 0 {
				outcomes["feature.sized@third"] = &ledger.Decision{Verdict: "pass"}
			}
			k, err := j.Keys(scopeOf(outcomes, third))
			if err != nil || keys[k.Measure] {
				t.Errorf("%s %v: %v, or another outcome has the same key", v, third, err)
			}
			keys[k.Measure] = true
		}
	}
	if _, err := j.Keys(scopeOf(map[string]*ledger.Decision{"feature.sized.first": {Verdict: "pass"}}, nil)); !errors.Is(err, runtime.ErrUndecided) {
		t.Errorf("before the others are decided: %v", err)
	}
	if !maps.Equal(enters(l.Plan.Feature("sized"), &ledger.Decision{Variant: map[string]string{"size": "small", "b": "x"}}), map[string]string{"a": "on", "size": "small"}) {
		t.Error("what enters the stack is not what was chosen")
	}
}

// TestNotAdmitted: what builds on something that is not in the stack is not in it
// either, and says so once.
func TestNotAdmitted(t *testing.T) {
	l := labOf(t, choosePlan)
	child := l.Plan.Feature("child")
	out := &ledger.Decision{Verdict: verdict.Pass}
	s := scopeOf(map[string]*ledger.Decision{"feature.sized": {Verdict: "fail"}}, nil)
	l.admit(s, child, out)
	l.admit(s, child, out)
	if out.Accepted || len(out.Reasons) != 1 || !strings.Contains(out.Reasons[0], "sized") {
		t.Errorf("%+v", out)
	}
	s = scopeOf(map[string]*ledger.Decision{"feature.sized": {Verdict: "pass", Accepted: true}}, nil)
	if l.admit(s, child, out); !out.Accepted {
		t.Error("what builds on the stack does not enter it")
	}
}
