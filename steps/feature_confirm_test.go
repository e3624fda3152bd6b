package steps

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
		says                string // codes with their engine and its verdict
		lockedByOtherReason bool
	}{
		{"everywhere", "pass", "pass", "pass", "pass", "confirmed embedded.wide pass|confirmed embedded.third pass", false},
		{"not on the first", "fail", "", "", "fail", "confirmation.not_tried embedded.wide fail|confirmation.not_tried embedded.third fail", false},
		{"not on the second", "pass", "fail", "", "fail", "not_confirmed embedded.wide fail too slow|confirmation.not_tried embedded.third fail", false},
		{"open on the third", "pass", "pass", "inconclusive", "inconclusive", "confirmed embedded.wide pass|not_confirmed embedded.third inconclusive too slow", false},
		{"broken on the third", "pass", "pass", "error", "error", "confirmed embedded.wide pass|not_confirmed embedded.third error too slow", false},
		{"locked for another reason", "pass", "", "pass", "invalid", "confirmation.not_run embedded.wide invalid someone retracted it|confirmed embedded.third pass", true},
		{"not even open", "inconclusive", "", "", "inconclusive", "confirmation.not_tried embedded.wide inconclusive|confirmation.not_tried embedded.third inconclusive", false},
	} {
		outcomes := map[string]*ledger.Decision{
			"feature.sized.first": {Node: "feature.sized.first", Verdict: c.first, Variant: map[string]string{"size": "large"}, Rules: []ledger.Rule{{Name: "c"}}, Reasons: []verdict.Reason{fact("it is so")}},
		}
		locked := map[string]verdict.Reason{}
		for id, v := range map[string]verdict.Verdict{"feature.sized@wide": c.wide, "feature.sized@third": c.third} {
			if v == "" {
				locked[id] = verdict.New(code.Outcome).On("feature.sized.first").Is(c.first)
				if c.lockedByOtherReason {
					locked[id] = fact("someone retracted it")
				}
				continue
			}
			outcomes[id] = &ledger.Decision{Node: id, Verdict: v, Reasons: []verdict.Reason{verdict.New(code.Rule).On("quality").Is(verdict.Pass), fact("too slow")}, Accepted: true}
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
		var says []string
		for _, r := range got.Reasons[:len(got.Reasons)-1] {
			line := string(r.Code) + " " + r.Subject + " " + string(r.Verdict) + r.Args["without"].Text
			for _, cause := range r.Causes {
				line += " " + cause.Args["error"].Text
			}
			says = append(says, line)
		}
		if got := strings.Join(says, "|"); got != c.says {
			t.Errorf("%s: says %q, want %q", c.name, got, c.says)
		}
		if !got.Reasons[len(got.Reasons)-1].Equal(fact("it is so")) {
			t.Errorf("%s: the reasons of the first engine are lost: %+v", c.name, got.Reasons)
		}
		if outcomes["feature.sized.first"].Verdict != c.first || outcomes["feature.sized.first"].Accepted {
			t.Errorf("%s: the first decision was changed", c.name)
		}
	}
	// What it rests on is part of its key.
	keys := map[string]bool{}
	for _, v := range []verdict.Verdict{"pass", "fail"} {
		for _, third := range []map[string]verdict.Reason{{}, {"feature.sized@third": fact("it is so")}} {
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
	if out.Accepted || len(out.Reasons) != 1 || !out.Reasons[0].Equal(verdict.New(code.ParentNotAccepted).On("sized")) {
		t.Errorf("%+v", out)
	}
	s = scopeOf(map[string]*ledger.Decision{"feature.sized": {Verdict: "pass", Accepted: true}}, nil)
	if l.admit(s, child, out); !out.Accepted {
		t.Error("what builds on the stack does not enter it")
	}
}
