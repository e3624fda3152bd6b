package levels

import (
	"context"
	"errors"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels/stress"
)

var stressKind = Kind{
	Schema: stress.Schema,
	make: func(b *plans.Block) (level, error) {
		l := &underStress{}
		return l, b.Decode(&l.Config)
	},
}

type underStress struct{ stress.Config }

func (l *underStress) run(ctx context.Context, q *qualification) (*artifact, error) {
	q.answered = true
	tape, err := l.Run(ctx, q.Started)
	if err != nil {
		return nil, err
	}
	samples, samplesErr := store.SamplesParquet(q.Origin(), tape.Samples)
	series, seriesErr := store.SeriesParquet(q.Origin(), tape.Series)
	if err = errors.Join(samplesErr, seriesErr); err == nil {
		err = errors.Join(q.keep(samplesFile, samples), q.keep(seriesFile, series))
	}
	return &artifact{Load: tape}, err
}

// samplesFile and seriesFile are where a level keeps its own raw data.
const samplesFile, seriesFile = "samples.parquet", "series.parquet"

func (l *underStress) judge(_ context.Context, e *evidence) (v verdict.Verdict, reasons []verdict.Reason, err error) {
	if e.Load == nil {
		return "", nil, &verdict.Fault{Reason: verdict.New(code.LevelUnreplayed).On(e.block.Level())}
	}
	if e.Load.Samples == nil { // of a recorded launch
		raw := *e.launch
		raw.Samples, raw.Series = raw.Left[e.block.Level()+"/"+samplesFile], raw.Left[e.block.Level()+"/"+seriesFile]
		if e.Load.Samples, err = e.store.ReadSamples(&raw); err == nil {
			e.Load.Series, err = e.store.ReadSeries(&raw)
		}
	}
	if err != nil {
		return "", nil, err
	}
	return l.Judge(*e.Load, e.Number)
}

// Paced is how long a protocol's levels take by the clock, however fast the engine is:
// the soak of a stress level.
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
