// Package session measures candidates and decides them: it qualifies each variant in a
// launch of its own, launches what is compared interleaved and in rounds, launches again
// what the machine disturbed, and goes on until no rule wants more. It knows launches,
// levels and what may be told from several launches together. Whether a rule is settled,
// and what follows from what was measured, it asks steps/decide.
package session

import (
	"fmt"
	"sync"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

// Lab is what the sessions of one apply share.
type Lab struct {
	launch.Lab
	record.Sender

	// Draws are what the texts of launches are drawn from.
	Draws *ledger.Draws

	// free is what freed says, which follows from the plan alone.
	freeing sync.Once
	free    []any
	// proved are launches whose evidence was found, see unproved.
	proved sync.Map
	// begun are the sessions that this apply began.
	begun map[string]bool
	// died are launches of this apply that broke, by session and variant.
	died map[string]*ledger.Launch
}

// Step makes the step of a node that measures or decides.
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

// Compare makes the step of a comparison of engines.
func (l *Lab) Compare(b *plans.Block) runtime.Step { return &compare{lab: l, block: b} }
