package steps

import (
	"context"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/session"
	"github.com/mxflow/mxflow/steps/work"
)

// Evaluator decides the outcomes of steps, levels and sessions again from their artifacts,
// for runtime/replay.
type Evaluator struct {
	session.Evaluator
}

// NewEvaluator evaluates what a state directory holds.
func NewEvaluator(st *store.Store) *Evaluator {
	j := &Evaluator{}
	j.Store = st
	return j
}

// ProgramNumbers are the numbers that a step's program printed; false of a step that reads none.
func (j *Evaluator) ProgramNumbers(b *plans.Block, l *ledger.Launch) (found map[string]measure.Summary,
	reads bool, err error,
) {
	if kind, known := work.Kinds[b.Kind]; !known || kind.Schema.Finds == nil || l.Output == "" {
		return nil, false, nil
	}
	text, err := j.Store.Get(l.Output)
	if err != nil {
		return nil, true, err
	}
	return work.ProgramNumbers(context.Background(), b, text)
}
