package load

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
)

// Sequential sends a plan's requests one at a time, each when the one before it
// has been answered: warm-ups, then what is measured. The samples are in the
// order in which they were sent.
//
// The first request that fails ends it, because an engine that has failed once
// is not the engine that was to be measured. Then the error says which request
// it was and wraps the Streamer's error, and the samples are those so far, the
// failed one last with its Err set. When ctx ends, its error is returned.
func Sequential(ctx context.Context, engine Streamer, p Plan) ([]measure.Sample, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	total := p.Warmup + p.Requests
	samples := make([]measure.Sample, 0, total)
	for i := range total {
		if err := ctx.Err(); err != nil {
			return samples, err
		}
		warmup, index := i < p.Warmup, i-p.Warmup
		prompts := p.Prompts.Measured
		if warmup {
			prompts, index = p.Prompts.Warmup, i
		}
		s, err := engine.Stream(ctx, p.request(prompts[index], p.Fresh && i == 0))
		s.Workload, s.Index, s.Warmup = p.Cell, index, warmup
		s.RequestedOutput = p.OutputTokens
		if err != nil && s.Err == "" {
			s.Err = err.Error()
		}
		samples = append(samples, s)
		if err != nil {
			return samples, fmt.Errorf("cell %s, %s %d: %w", p.Cell, word(warmup), index, err)
		}
		if p.Progress != nil {
			p.Progress(Progress{Cell: p.Cell, Done: i + 1, Total: total, Sample: s})
		}
	}
	return samples, nil
}

func word(warmup bool) string {
	if warmup {
		return "warm-up"
	}
	return "request"
}
