package load

import (
	"context"
	"sync/atomic"
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

// holding is an engine whose answers are decoded when they are released.
type holding struct {
	sent     atomic.Int32
	before   int32 // how many were sent before that
	released chan struct{}
}

func (h *holding) Hold() func() {
	return func() { h.before = h.sent.Load(); close(h.released) }
}

func (h *holding) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	h.sent.Add(1)
	s := measure.Sample{Sent: time.Now(), Events: []measure.Event{{At: time.Millisecond}}}
	r.Ended()
	<-h.released
	return s, nil
}

// Nothing is decoded while requests are to be sent at their time.
func TestSendsBeforeDecoding(t *testing.T) {
	p := plan()
	p.Prompts.Warmup, p.Fresh = nil, false
	p.Pace = Pace{Arrival: Constant, Rate: 2000, MaxConcurrency: 1} // each end lets the next one go
	all := len(p.Prompts.Measured)
	h := &holding{released: make(chan struct{})}
	r, err := Run(t.Context(), h, p)
	if err != nil || len(r.Samples) != all || int(h.before) < all-1 { // the last may just be sent
		t.Errorf("%d samples of %d, %d sent before any was decoded, %v", len(r.Samples), all, h.before, err)
	}
}
