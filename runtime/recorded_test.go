package runtime

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestRecorded: which outcome on record counts, and else why the work is wanted.
func TestRecorded(t *testing.T) {
	was := func(v verdict.Verdict) *ledger.Decision {
		return &ledger.Decision{Node: "n", MeasureKey: "m", Verdict: v, Attempt: 1}
	}
	disturbed, derived, gone := was(verdict.Inconclusive), was(verdict.Invalid), was(verdict.Pass)
	disturbed.Reasons = verdict.Because(code.MachineDisturbed)
	derived.Derived = true
	gone = gone.Withdraw(ledger.Retraction{Node: "n", Reason: "wrong", By: "kim"})
	matrix := &plans.Block{Kind: plans.MatrixStep}
	retracted := &ledger.Decision{Node: FeatureID("f"), Kind: ledger.KindFeature, Retraction: &ledger.Retraction{Node: FeatureID("f")}}
	for name, c := range map[string]struct {
		kind     Kind
		block    *plans.Block
		previous *ledger.Decision
		key      string
		forced   bool
		waived   bool
		feature  *ledger.Decision
		counts   bool
		why      code.Kind
	}{
		"never done":                   {kind: KindBenchmark, key: "m", why: "first"},
		"a pass":                       {kind: KindBenchmark, previous: was(verdict.Pass), key: "m", counts: true},
		"a fail":                       {kind: KindBenchmark, previous: was(verdict.Fail), key: "m", counts: true},
		"inconclusive":                 {kind: KindBenchmark, previous: was(verdict.Inconclusive), key: "m", counts: true},
		"disturbed":                    {kind: KindBenchmark, previous: disturbed, key: "m", why: "retry_after"},
		"an error":                     {kind: KindBenchmark, previous: was(verdict.Error), key: "m", why: "retry_after"},
		"invalid":                      {kind: KindBenchmark, previous: was(verdict.Invalid), key: "m", why: "retry_after"},
		"no work was done":             {kind: KindBenchmark, previous: derived, key: "m", why: "measurement_changed"},
		"of something else":            {kind: KindBenchmark, previous: was(verdict.Pass), key: "n", why: "measurement_changed"},
		"asked for":                    {kind: KindBenchmark, previous: was(verdict.Pass), key: "m", forced: true, why: "rerun"},
		"a step that failed":           {kind: KindStep, previous: was(verdict.Fail), key: "m", why: "retry_after"},
		"a matrix that failed":         {kind: KindStep, block: matrix, previous: was(verdict.Fail), key: "m", counts: true},
		"retracted":                    {kind: KindBenchmark, previous: gone, key: "m", counts: true},
		"retracted, of something else": {kind: KindBenchmark, previous: gone, key: "n", why: "measurement_changed"},
		"retracted, asked for":         {kind: KindBenchmark, previous: gone, key: "m", forced: true, why: "rerun"},
		"below a waived gate":          {kind: KindStep, previous: was(verdict.Fail), key: "m", waived: true, counts: true, why: "gate_waived"},
		"of a retracted feature":       {kind: KindQualify, previous: was(verdict.Error), key: "m", feature: retracted, counts: true, why: "feature_was_retracted"},
	} {
		m := newMemory()
		if c.feature != nil {
			_ = m.Append(&ledger.Record{Decision: c.feature})
		}
		w := &walk{Runner: &Runner{Journal: m}, waived: map[string]bool{"p": c.waived}}
		n := &Node{ID: "n", Kind: c.kind, Phase: "p", StepBlock: c.block, Feature: "f", FeatureBlock: &plans.Feature{Name: "f"}}
		got, why := (&Scope{Node: n, Previous: c.previous, Forced: c.forced, w: w}).Recorded(c.key, verdict.Reason{})
		if (got != nil) != c.counts || got != nil && got != c.previous || why.Kind != c.why {
			t.Errorf("%s: %+v because %q, want it to count: %v because %q", name, got, why.Kind, c.counts, c.why)
		}
	}
	moved := verdict.Say("moved", "the branch moved")
	w := &walk{Runner: &Runner{Journal: newMemory()}}
	if _, why := (&Scope{Node: &Node{Kind: KindStep}, Previous: was(verdict.Pass), w: w}).Recorded("n", moved); len(why.Causes) != 1 || !why.Causes[0].Equal(moved) {
		t.Errorf("what changed is lost: %+v", why)
	}
}
