// Package session measures candidates and decides them: it qualifies each variant in its
// own launch, launches the arms interleaved and in rounds, repeats launches that the
// machine disturbed, and continues until no rule needs more. It knows launches, levels
// and what several launches together can show. It asks steps/decide whether a rule is
// settled, and what follows from the measurements.
package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/validity"
)

// Lab is what the sessions of one apply share.
type Lab struct {
	validity.Judge
	record.Sender

	// begun are the sessions that this apply started.
	begun []string
	// died are launches of this apply that broke, by session and variant.
	died map[string]*ledger.Launch
}

// Step returns the step of a node that measures or decides.
func (l *Lab) Step(n *runtime.Node) (runtime.Step, error) {
	switch n.Kind {
	case runtime.KindQualify:
		return &qualify{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindBenchmark:
		return &benchmark{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindFeature, runtime.KindCriteria, runtime.KindGate, runtime.KindPhase:
		return deciding{l, n}, nil
	}
	return nil, fmt.Errorf("unknown kind of node %q", n.Kind)
}

// Compare returns the step of a comparison of engines.
func (l *Lab) Compare(b *plans.Block) runtime.Step { return &compare{lab: l, block: b} }

// deciding is the step of a node decided from recorded evidence.
type deciding struct {
	lab  *Lab
	node *runtime.Node
}

func (d deciding) Keys(s *runtime.Scope) (runtime.Keys, error) {
	keys, err := decide.Keys(d.lab.View(s), d.node)
	if d.lab.OnSeenData && s.Previous != nil {
		// The person asking is about to let a withheld pass through.
		if i := slices.IndexFunc(s.Previous.Reasons, func(r verdict.Reason) bool { return r.Kind == code.Withheld.Kind }); i >= 0 {
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
