package session

import (
	"context"
	"slices"
	"sync"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
)

// deciding is the step of a node that follows from recorded evidence.
type deciding struct {
	lab  *Lab
	node *runtime.Node
}

func (d deciding) Keys(s *runtime.Scope) (runtime.Keys, error) {
	keys, err := decide.Keys(d.lab.View(s), d.node)
	if d.lab.OnSeenData && s.Previous != nil {
		// A pass that was withheld is what the person who asks is about to let through.
		if i := slices.IndexFunc(s.Previous.Reasons, func(r verdict.Reason) bool { return r.Code == code.Withheld }); i >= 0 {
			keys.Again = verdict.New(code.OnSeenData).From(s.Previous.Reasons[i].Causes...)
		}
	}
	return keys, err
}

func (d deciding) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	return decide.Node(d.lab.View(s), d.node)
}

// Foresee implements runtime.Foreseer.
func (d deciding) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	out, err := decide.Foresee(d.lab.View(s), d.node, s.Assumed)
	return out, nil, err
}

// Evidence is what rules could read after a recorded run: of every feature of
// the plan, given the decisions that stood then. It starts nothing.
func (l *Lab) Evidence(outcome func(node string) *ledger.Decision) *gates.Evidence {
	return decide.Evidence(l.View(&runtime.Scope{Plan: l.Plan, Known: &sync.Map{}, Outcome: outcome, LockedBy: func(node string) verdict.Reason {
		if outcome(node) != nil {
			return verdict.Reason{}
		}
		return verdict.New(code.NotInRun)
	}}))
}
