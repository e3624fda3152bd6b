// Package steps does the work of the graph's nodes, one file a kind of step or
// level: it starts engines, sends requests, reads logs, runs commands, and
// hands what it saw to gates. It knows plans and engines; it does not schedule
// and does not decide.
package steps

import (
	"fmt"
	"sync"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/work"
)

// Lab is what the steps of one apply share.
type Lab struct {
	launch.Lab
	record.Sender

	// free is what freed says, which follows from the plan alone.
	freeing sync.Once
	free    []any
	// begun are the sessions that this apply began.
	begun map[string]bool
	// died are launches of this apply that broke, by session and variant.
	died map[string]*ledger.Launch
}

// NewLab is a Lab of a plan, whose graph may be nil where nothing is started.
func NewLab(p *plans.Plan, g *runtime.Graph) *Lab {
	l := &Lab{}
	l.Plan, l.Graph = p, g
	l.Maker = func(spec engine.Spec, image string) string { return work.Maker(g, spec, image) }
	return l
}

// site is where its steps work.
func (l *Lab) site() *work.Site {
	return &work.Site{Plan: l.Plan, Graph: l.Graph, Store: l.Store, Launcher: l.Launcher, Owner: l.Owner, RunDir: l.RunDir, Redact: l.Redact, Seal: l.Seal}
}

// Step makes the step of a node.
func (l *Lab) Step(n *runtime.Node) (runtime.Step, error) {
	switch n.Kind {
	case runtime.KindQualify:
		return &qualify{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindBenchmark:
		return &benchmark{lab: l, feature: n.FeatureBlock}, nil
	case runtime.KindFeature, runtime.KindCriteria, runtime.KindGate, runtime.KindPhase:
		return deciding{l, n}, nil
	case runtime.KindStep:
		if kind, ok := work.Kinds[n.StepBlock.Kind]; ok {
			return kind.Make(l.site(), n.StepBlock), nil
		}
		kind, ok := stepKinds[n.StepBlock.Kind]
		if !ok {
			return nil, fmt.Errorf("unknown step kind %q", n.StepBlock.Kind)
		}
		return kind.make(l, n.StepBlock), nil
	}
	return nil, fmt.Errorf("unknown kind of node %q", n.Kind)
}
