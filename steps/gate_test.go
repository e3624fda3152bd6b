package steps

import (
	"errors"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// TestStepsOfAPhase: a phase without a gate passes when its steps did, and a step
// that was not run is none that passed.
func TestStepsOfAPhase(t *testing.T) {
	ph := &plans.Phase{Name: "build", Steps: []*plans.Block{{Kind: "exec", Name: "one"}, {Kind: "exec", Name: "two"}}}
	one, two := runtime.StepID("build", "exec", "one"), runtime.StepID("build", "exec", "two")
	was := func(v verdict.Verdict) *ledger.Decision { return &ledger.Decision{Verdict: v, Attempt: 1} }
	for _, c := range []struct {
		name     string
		outcomes map[string]*ledger.Decision
		locked   map[string]verdict.Reason
		want     verdict.Verdict
		why      verdict.Reason
		keys     error
	}{
		{"both passed", map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Pass)}, nil, verdict.Pass, verdict.New(code.Step).On("exec two").Is(verdict.Pass), nil},
		{"one failed", map[string]*ledger.Decision{one: was(verdict.Fail)}, map[string]verdict.Reason{two: verdict.New(code.Outcome).On(one).Is(verdict.Fail)}, verdict.Fail, verdict.New(code.StepAlone).On("exec one").Is(verdict.Fail), nil},
		{"one broke", map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Error)}, nil, verdict.Error, verdict.New(code.StepAlone).On("exec two").Is(verdict.Error), nil},
		{"one is locked", map[string]*ledger.Decision{one: was(verdict.Pass)}, map[string]verdict.Reason{two: fact("its branch was retracted")}, verdict.Invalid, verdict.New(code.StepNotRun).On("exec two").From(fact("its branch was retracted")), nil},
		{"none was run", nil, nil, verdict.Invalid, verdict.New(code.StepNotRun).On("exec one"), runtime.ErrUndecided},
	} {
		s := scopeOf(c.outcomes, c.locked)
		step := &joinPhase{lab: &Lab{}, phase: ph}
		d, err := step.Run(t.Context(), s)
		if err != nil || d.Verdict != c.want || !slices.ContainsFunc(d.Reasons, c.why.Equal) {
			t.Errorf("%s: %+v, %v; want %s because %+v", c.name, d, err, c.want, c.why)
		}
		if _, err := step.Keys(s); !errors.Is(err, c.keys) {
			t.Errorf("%s: keys: %v, want %v", c.name, err, c.keys)
		}
	}
}
