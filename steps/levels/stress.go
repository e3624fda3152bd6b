package levels

import (
	"context"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/stress"
)

var stressKind = Kind{
	Schema: stress.Schema,
	make: func(b *plans.Block) (level, error) {
		l := &underStress{}
		return l, b.Decode(&l.Config)
	},
}

type underStress struct{ stress.Config }

func (l *underStress) run(ctx context.Context, q *qualification) (verdict.Verdict, []verdict.Reason, error) {
	q.answered = true
	return l.Run(ctx, q.Started, q.found)
}
