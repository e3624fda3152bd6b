package runtime

import (
	"reflect"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func TestChoose(t *testing.T) {
	was := func(v verdict.Verdict, derived bool) *ledger.Decision {
		return &ledger.Decision{MeasureKey: "m", DecisionKey: "d", Verdict: v, Attempt: 3, Derived: derived}
	}
	// gone is what was decided about x, withdrawn because of a node.
	gone := func(root string) *ledger.Decision {
		return (&ledger.Decision{Node: "x", MeasureKey: "m", DecisionKey: "d", Verdict: verdict.Pass, Attempt: 2}).Withdraw(ledger.Retraction{Node: root})
	}
	disturbed := was(verdict.Inconclusive, false)
	disturbed.Reasons = verdict.Because(code.MachineDisturbed)
	moved := verdict.Say("broken", "{error}", verdict.Text("error", "the branch moved"))
	same := Keys{Measure: "m", Decide: "d"}
	for _, c := range []struct {
		name     string
		kind     Kind
		previous *ledger.Decision
		keys     Keys
		rerun    bool
		want     Choice
	}{
		{"never decided", KindBenchmark, nil, same, false, Choice{Measure, First, verdict.Say("first", "first"), 1}},
		{"pass is kept", KindBenchmark, was(verdict.Pass, false), same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"fail is kept", KindBenchmark, was(verdict.Fail, false), same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"inconclusive is kept", KindBenchmark, was(verdict.Inconclusive, false), same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"what the machine disturbed is tried again", KindBenchmark, disturbed, same, false, Choice{Measure, Retry, verdict.New(code.RetryAfter).Is("inconclusive"), 4}},
		{"what rests on it is not", KindFeature, disturbed, same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"error is tried again", KindBenchmark, was(verdict.Error, false), same, false, Choice{Measure, Retry, verdict.New(code.RetryAfter).Is("error"), 4}},
		{"invalid is tried again", KindBenchmark, was(verdict.Invalid, false), same, false, Choice{Measure, Retry, verdict.New(code.RetryAfter).Is("invalid"), 4}},
		{"invalid that follows from what is kept", KindBenchmark, was(verdict.Invalid, true), same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"another variant", KindBenchmark, was(verdict.Pass, false), Keys{Measure: "m2", Decide: "d"}, false, Choice{Measure, MeasurementChanged, verdict.Say("measurement_changed",
			"measurement changed"), 4}},
		{"more launches", KindBenchmark, was(verdict.Pass, false), Keys{Measure: "m", Decide: "d2"}, false, Choice{Redecide, RulesChanged, verdict.Say("rules_changed",
			"rules changed"), 4}},
		{"threshold", KindGate, was(verdict.Fail, true), Keys{Measure: "m", Decide: "d2"}, false, Choice{Redecide, RulesChanged, verdict.Say("rules_changed",
			"rules changed"), 4}},
		{"gate over new evidence", KindGate, was(verdict.Fail, true), Keys{Measure: "m2", Decide: "d"}, false, Choice{Redecide, EvidenceChanged, verdict.Say("evidence_changed",
			"evidence changed"), 4}},
		{"gate over new evidence, with other rules", KindGate, was(verdict.Fail, true), Keys{Measure: "m2", Decide: "d2"}, false, Choice{Redecide, EvidenceChanged, verdict.Say("rules_and_evidence_changed",
			"rules and evidence changed"), 4}},
		{"another hypothesis", KindFeature, was(verdict.Pass, true), Keys{Measure: "m", Decide: "d", Claim: "c"}, false, Choice{Redecide, HypothesisChanged, verdict.Say("hypothesis_changed",
			"hypothesis changed"), 4}},
		{"another hypothesis of what broke", KindCriteria, was(verdict.Error, false), Keys{Measure: "m", Decide: "d", Claim: "c"}, false, Choice{Redecide, Retry, verdict.New(code.RetryAfter).Is("error"), 4}},
		{"another hypothesis, and other rules", KindFeature, was(verdict.Pass, true), Keys{Measure: "m", Decide: "d2", Claim: "c"}, false, Choice{Redecide, RulesChanged, verdict.Say("rules_changed",
			"rules changed"), 4}},
		{"another hypothesis of what was retracted", KindFeature, gone("x"), Keys{Measure: "m", Decide: "d", Claim: "c"}, false, Choice{Reuse, Withdrawn, verdict.New(code.Retracted), 3}},
		{"forced", KindQualify, was(verdict.Pass, false), same, true, Choice{Measure, Rerun, verdict.Say("rerun",
			"--rerun"), 4}},
		{"a step that tells why", KindBenchmark, was(verdict.Pass, false), Keys{Measure: "m2", Decide: "d", Why: moved}, false, Choice{Measure, MeasurementChanged, verdict.Say("measurement_changed",
			"measurement changed").From(moved), 4}},
		{"command that passed", KindStep, was(verdict.Pass, false), same, false, Choice{Reuse, Unchanged, verdict.New(code.Unchanged), 3}},
		{"command that failed", KindStep, was(verdict.Fail, false), same, false, Choice{Measure, Retry, verdict.New(code.RetryAfter).Is("fail"), 4}},
		{"retracted", KindFeature, gone("x"), same, false, Choice{Reuse, Withdrawn, verdict.New(code.Retracted), 3}},
		{"retracted, by other rules", KindFeature, gone("x"), Keys{Measure: "m", Decide: "d2"}, false, Choice{Reuse, Withdrawn, verdict.New(code.Retracted), 3}},
		{"retracted, over new evidence", KindFeature, gone("x"), Keys{Measure: "m2", Decide: "d"}, false, Choice{Redecide, EvidenceChanged, verdict.Say("evidence_changed",
			"evidence changed"), 4}},
		{"retracted, forced", KindBenchmark, gone("x"), same, true, Choice{Measure, Rerun, verdict.Say("rerun",
			"--rerun"), 4}},
		{"command that was retracted", KindStep, gone("x"), same, false, Choice{Reuse, Withdrawn, verdict.New(code.Retracted), 3}},
		{"withdrawn, and what it rests on stands again", KindFeature, gone("y"), same, false, Choice{Redecide, Unlocked, verdict.Say("no_longer_withdrawn",
			"no longer withdrawn because of {subject}").On("y"), 4}},
		{"unknown word", KindQualify, was("ok", false), same, false, Choice{Measure, Retry, verdict.New(code.RetryAfter).Is("ok"), 4}},
	} {
		if got := choose(&Node{Kind: c.kind}, c.previous, c.keys, c.rerun); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
