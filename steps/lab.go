// Package steps wires the packages below it: which step decides which node of a graph,
// what the steps of one apply share, and which kinds of steps, levels and engine blocks a
// plan may have. It starts nothing, schedules nothing and decides nothing.
package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/session"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/mxflow/mxflow/steps/work"
)

// Lab is what the steps of one apply share.
type Lab struct {
	Variants *variant.Resolver
	Launches *launch.Lab
	Sessions *session.Lab
}

// NewLab is a Lab of a plan, whose graph may be nil where nothing is started.
func NewLab(p *plans.Plan, g *runtime.Graph) *Lab {
	s := session.NewLab(p, g)
	s.Launches.Maker = func(image string) string { return work.Maker(g, image) }
	return &Lab{Variants: s.Variants, Launches: s.Launches, Sessions: s}
}

// building is a step that may build what engines run: they are identified anew after it.
type building struct {
	runtime.Step
	retake func()
}

func (b building) Do(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	defer b.retake()
	return b.Step.Do(ctx, s)
}

func (l *Lab) Step(n *runtime.Node) (runtime.Step, error) {
	if n.Kind != runtime.KindStep {
		return l.Sessions.Step(n)
	}
	if kind, ok := work.Kinds[n.StepBlock.Kind]; ok {
		site := &work.Site{
			Plan: l.Variants.Plan, Store: l.Launches.Store, Owner: l.Launches.Owner,
			RunDir: l.Launches.RunDir, Redact: l.Launches.Redact, Seal: l.Variants.Seal,
		}
		return building{kind.Make(site, n.StepBlock), l.Variants.Retake}, nil
	}
	if n.StepBlock.Kind == plans.CompareStep || n.StepBlock.Kind == plans.MatrixStep {
		return l.Sessions.Rows(n.StepBlock), nil
	}
	return nil, fmt.Errorf("unknown step kind %q", n.StepBlock.Kind)
}
