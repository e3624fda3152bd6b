package levels

import (
	"context"
	"time"

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

// Paced is how long the levels of a protocol go on by the clock, however fast the engine
// is: what a stress level soaks.
func Paced(p *plans.Protocol) (sum time.Duration) {
	if p == nil {
		return 0
	}
	if b := p.Level("stress"); b != nil {
		var l underStress
		if b.Decode(&l.Config) == nil {
			sum = time.Duration(l.Soak)
		}
	}
	return sum
}
