package steps

import (
	"sync"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Evidence is what rules could read after a recorded run: of every feature of
// the plan, given the decisions that stood then. It starts nothing.
func (l *Lab) Evidence(outcome func(node string) *ledger.Decision) *gates.Evidence {
	s := &runtime.Scope{Plan: l.Plan, Known: &sync.Map{}, Outcome: outcome, LockedBy: func(node string) verdict.Reason {
		if outcome(node) != nil {
			return verdict.Reason{}
		}
		return verdict.New(code.NotInRun)
	}}
	all := &gates.Evidence{Features: map[string]*gates.Feature{}}
	for _, ph := range l.Plan.Phases {
		for _, f := range ph.Features {
			ev, _, err := l.evidenceOf(s, f)
			if err != nil {
				ev = &gates.Feature{Broken: verdict.Invalid, Cause: verdict.OfError(err)}
			}
			if d := outcome(runtime.FeatureID(f.Name)); d != nil {
				addOutcome(ev, d)
			}
			all.Features[f.Name] = ev
		}
	}
	return all
}

// addOutcome adds to the evidence about a feature how that was decided, which only
// rules of gates read. Of one that was withdrawn they read nothing.
func addOutcome(ev *gates.Feature, d *ledger.Decision) {
	ev.Outcome, ev.Accepted = d.Verdict, d.Accepted
	if d.Retraction != nil {
		ev.Broken, ev.Cause = verdict.Invalid, d.Retraction.Of(d.Node)
	}
}
