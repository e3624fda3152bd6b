package ledger

import (
	"reflect"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// TestParts: what a reason is of is known from what the decision was joined from,
// whatever words people named it by.
func TestParts(t *testing.T) {
	kernels := Level{Name: "kernels", Verdict: verdict.Fail, Reasons: []string{"312 of 400 are wrong", "level smoke is fail: no"}}
	absent := Input{Path: "chat.tg.gain", Missing: kernels.Says()}
	unread := Input{Path: "levels.quality", Missing: "level quality of feature a is invalid: " + kernels.Says()}
	for name, c := range map[string]struct {
		d    Decision
		want []Part
	}{
		"words alone": {Decision{Reasons: []string{"level kernels: invalid", "x: pass: y"}, Rules: []Rule{{Name: "other", Role: "rule"}}}, nil},
		"rules": {
			Decision{
				Rules:   []Rule{{Name: "level kernels: invalid", Role: "rule", Verdict: verdict.Pass}, {Name: "x: pass: y", Role: "rule", Verdict: verdict.Fail, Reasons: []string{"a: pass: b", "c"}}},
				Reasons: []string{"level kernels: invalid: pass", "x: pass: y: fail: a: pass: b; c", "x: pass: y"},
			},
			[]Part{{Of: "rule", Name: "level kernels: invalid", Verdict: verdict.Pass}, {Of: "rule", Name: "x: pass: y", Verdict: verdict.Fail}, {}},
		},
		"a rule called as a confirmation says it": {
			Decision{Rules: []Rule{{Name: "confirmed on engine.a", Role: "rule", Verdict: verdict.Fail}}, Reasons: []string{"confirmed on engine.a: fail"}},
			[]Part{{Of: "rule", Name: "confirmed on engine.a", Verdict: verdict.Fail}},
		},
		"a feature": {
			Decision{
				Confirmations: []Confirmation{{Engine: "a.b", Verdict: verdict.Pass, Reason: "confirmed on engine.a.b"}},
				Levels:        []Level{{Name: "smoke", Verdict: verdict.Pass}, kernels},
				Rules: []Rule{
					{Name: "speed", Role: "criterion", Verdict: verdict.Invalid, Inputs: []Input{absent, unread}, Reasons: []string{absent.Absence(), unread.Absence()}},
					{Name: "said by hand", Role: "criterion", Verdict: verdict.Invalid, Reasons: []string{absent.Absence()}},
				},
				Reasons: []string{
					"confirmed on engine.a.b", "level kernels: fail",
					"criterion speed: invalid: chat.tg.gain: " + kernels.Says() + "; levels.quality: " + unread.Missing,
					"criterion said by hand: invalid: chat.tg.gain: " + kernels.Says(),
				},
			},
			[]Part{
				{Of: "confirmation", Name: "a.b", Verdict: verdict.Pass},
				{Of: "level", Name: "kernels", Verdict: verdict.Fail},
				{Of: "criterion", Name: "speed", Verdict: verdict.Invalid, Brief: "criterion speed: invalid: chat.tg.gain: level kernels is fail; levels.quality: level quality of feature a is invalid: level kernels is fail"},
				{Of: "criterion", Name: "said by hand", Verdict: verdict.Invalid},
			},
		},
		"a benchmark that was not made": {
			Decision{Kind: KindBenchmark, Levels: []Level{{Name: "benchmark", Verdict: verdict.Invalid}}, Reasons: []string{"not measured: " + kernels.Says(), "and more"}},
			[]Part{{Brief: "not measured: level kernels is fail"}, {}},
		},
		"anything else that says so": {Decision{Kind: KindStep, Reasons: []string{"not measured: " + kernels.Says()}}, nil},
		"two alike": {
			Decision{Rules: []Rule{{Name: "a", Role: "rule", Verdict: verdict.Fail}, {Name: "a", Role: "rule", Verdict: verdict.Fail}}, Reasons: []string{"a: fail", "a: fail", "a: fail"}},
			[]Part{{Of: "rule", Name: "a", Verdict: verdict.Fail}, {Of: "rule", Name: "a", Verdict: verdict.Fail}, {}},
		},
	} {
		if got := c.d.Parts([]Level{kernels}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, c.want)
		}
	}
}

// TestAgainst: what passed does not speak against a decision, and what is called so
// does.
func TestAgainst(t *testing.T) {
	d := Decision{
		Rules:   []Rule{{Name: "a", Role: "criterion", Verdict: verdict.Pass, Reasons: []string{"+1"}}, {Name: "b: pass: c", Role: "criterion", Verdict: verdict.Fail, Reasons: []string{"-1"}}},
		Reasons: []string{"criterion a: pass: +1", "criterion b: pass: c: fail: -1", "and more"},
	}
	reasons, brief := d.Against()
	if want := d.Reasons[1:]; !reflect.DeepEqual(reasons, want) || !reflect.DeepEqual(brief, want) {
		t.Errorf("%q, in brief %q", reasons, brief)
	}
}
