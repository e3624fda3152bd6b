// Package session measures candidates and decides them: it qualifies each variant in its
// own launch, launches the arms interleaved and in rounds, repeats launches that the
// machine disturbed, and stops once no rule needs more. It asks runtime/decide whether a
// rule is settled, and for the decision.
package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/record/validity"
	"github.com/mxflow/mxflow/steps/variant"
)

// Lab is what the sessions of one apply share.
type Lab struct {
	Variants *variant.Resolver
	Launches *launch.Lab
	Validity *validity.Checker
	Sender   *record.Sender

	// begun are the sessions that this apply started.
	begun []string
	// died are launches of this apply that broke, by session and variant.
	died map[string]*ledger.Launch
}

// NewLab is a Lab of a plan, whose graph may be nil where nothing is started.
func NewLab(p *plans.Plan, g *runtime.Graph) *Lab {
	launches := &launch.Lab{Variants: &variant.Resolver{Plan: p}, Graph: g}
	return &Lab{
		Variants: launches.Variants, Launches: launches, Validity: &validity.Checker{Launches: launches},
		Sender: &record.Sender{},
	}
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

// Rows returns the step that measures engines, or cells of a matrix, beside each other.
func (l *Lab) Rows(b *plans.Block) runtime.Step { return &rows{lab: l, block: b} }

// deciding is the step of a node decided from recorded evidence.
type deciding struct {
	lab  *Lab
	node *runtime.Node
}

// Derive implements runtime.Step. What broke while deciding is an outcome, too.
func (d deciding) Derive(s *runtime.Scope) (*runtime.Derived, error) {
	out, err := decide.Node(d.lab.Launches.View(s), d.node)
	switch {
	case errors.Is(err, runtime.ErrUndecided):
		return nil, err
	case err != nil:
		out = &ledger.Decision{Verdict: verdict.Error, Reasons: []verdict.Reason{verdict.OfError(err)}}
	default:
		out.Derived = true
	}
	return &runtime.Derived{Key: s.Key, Outcome: out}, nil
}

func (deciding) Do(context.Context, *runtime.Scope) (*ledger.Decision, error) {
	return nil, errors.New("a decision is no work (a bug in mxflow)")
}
