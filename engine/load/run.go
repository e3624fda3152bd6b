package load

import (
	"context"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Result is what a run of one cell left behind.
type Result struct {
	// Samples are all requests in the order in which they were due.
	Samples []measure.Sample
	// From is when the first measured request was due and To when the last one
	// had ended, since Plan.Zero.
	From, To time.Duration
	// Delay is measure.ClientDelay over the run.
	Delay measure.Series
}

// Run sends a plan's requests at its pace.
func Run(ctx context.Context, engine Streamer, p Plan) (Result, error) {
	began := time.Now()
	if p.Zero.IsZero() {
		p.Zero = began
	}
	samples, err := Sequential(ctx, engine, p)
	return Result{Samples: samples, From: began.Sub(p.Zero), To: time.Since(p.Zero)}, err
}
