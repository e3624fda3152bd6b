package load

import (
	"context"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// deferring answers at once, and returns an answer only when all have ended.
type deferring struct {
	ended chan struct{}
	all   int
}

func (d *deferring) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	s := measure.Sample{Sent: time.Now(), Events: []measure.Event{{At: time.Millisecond}}}
	r.Ended()
	d.ended <- struct{}{}
	for len(d.ended) < d.all {
		time.Sleep(time.Millisecond)
	}
	return s, nil
}

// A slot is free, and a request counted, at the end of its answer: decoding it comes later.
func TestSlotIsFreeBeforeDecoding(t *testing.T) {
	p := plan()
	p.Prompts.Warmup, p.Fresh, p.Pace.Concurrency = nil, false, 1
	all := len(p.Prompts.Measured)
	done := 0
	p.Progress = func(n int) { done = n }
	r, err := Run(t.Context(), &deferring{make(chan struct{}, all), all}, p)
	if err != nil || len(r.Samples) != all || done != all {
		t.Errorf("%d samples of %d, %d counted, %v", len(r.Samples), all, done, err)
	}
}
