package levels

import (
	"context"
	"errors"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/store"
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
	v, reasons, err := l.Run(ctx, q.Started, q.found)
	if err != nil {
		return "", nil, err
	}
	samples, samplesErr := store.SamplesParquet(q.Origin(), l.Tape.Samples)
	series, seriesErr := store.SeriesParquet(q.Origin(), l.Tape.Series)
	err = errors.Join(samplesErr, seriesErr)
	if err == nil {
		err = errors.Join(q.keep(samplesFile, samples), q.keep(seriesFile, series), q.hear(heard{Load: l.Tape}))
	}
	return v, reasons, err
}

// samplesFile and seriesFile are where a level keeps its own raw data.
const samplesFile, seriesFile = "samples.parquet", "series.parquet"

func (l *underStress) again(_ context.Context, k *kept) (v verdict.Verdict, err error) {
	if k.heard.Load == nil || k.heard.Load.Dropped {
		return "", unreplayed(k.block)
	}
	raw := *k.launch
	raw.Samples, raw.Series = raw.Left[k.block.Level()+"/"+samplesFile], raw.Left[k.block.Level()+"/"+seriesFile]
	tape := *k.heard.Load
	if tape.Samples, err = k.store.ReadSamples(&raw); err != nil {
		return "", err
	}
	if tape.Series, err = k.store.ReadSeries(&raw); err != nil {
		return "", err
	}
	return l.Again(tape, func(name string, values ...float64) { found(k.numbers, k.block, name, values) })
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
