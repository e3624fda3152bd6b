package steps

import (
	"errors"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
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
		locked   map[string]string
		want     verdict.Verdict
		why      string
		keys     error
	}{
		{"both passed", map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Pass)}, nil, verdict.Pass, "step exec two: pass", nil},
		{"one failed", map[string]*ledger.Decision{one: was(verdict.Fail)}, map[string]string{two: one + " is fail"}, verdict.Fail, "step exec one is fail", nil},
		{"one broke", map[string]*ledger.Decision{one: was(verdict.Pass), two: was(verdict.Error)}, nil, verdict.Error, "step exec two is error", nil},
		{"one is locked", map[string]*ledger.Decision{one: was(verdict.Pass)}, map[string]string{two: "its branch was retracted"}, verdict.Invalid, "step exec two was not run: its branch was retracted", nil},
		{"none was run", nil, nil, verdict.Invalid, "step exec one was not run", runtime.ErrUndecided},
	} {
		s := scopeOf(c.outcomes, c.locked)
		step := &joinPhase{lab: &Lab{}, phase: ph}
		d, err := step.Run(t.Context(), s)
		if err != nil || d.Verdict != c.want || !strings.Contains(strings.Join(d.Reasons, "\n"), c.why) {
			t.Errorf("%s: %+v, %v; want %s because %q", c.name, d, err, c.want, c.why)
		}
		if _, err := step.Keys(s); !errors.Is(err, c.keys) {
			t.Errorf("%s: keys: %v, want %v", c.name, err, c.keys)
		}
	}
}
