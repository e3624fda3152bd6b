package steps

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

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
