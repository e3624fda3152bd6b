package eval

import (
	"fmt"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Guard ends a load that takes too long or too much memory. The static limits stop every
// case that we know of long before; but an evaluation cannot be cancelled, so an unknown
// case can only be ended together with the process.
type Guard struct {
	// Time is how long a load may take, Heap by how many bytes the heap may grow.
	Time time.Duration
	Heap uint64
	// Exceeded ends the process. message names the limit, and what was being evaluated.
	Exceeded func(message string)
}

// Place is what a load is busy with.
type Place struct {
	What string
	At   hcl.Range
}

// heapMetric counts the bytes of live and not yet collected objects.
const heapMetric = "/memory/classes/heap/objects:bytes"

// Watch checks the clock and the heap until stop is called.
func (g *Guard) Watch(l *Scope) (stop func()) {
	if g == nil {
		return func() {}
	}
	l.busy = &atomic.Pointer[Place]{}
	done := make(chan struct{})
	began, before := time.Now(), heapBytes()
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			limit := ""
			switch {
			case time.Since(began) > g.Time:
				limit = fmt.Sprintf("took longer than %v", g.Time)
			case heapBytes() > before+g.Heap:
				limit = fmt.Sprintf("used more than %d MB of memory", g.Heap>>20)
			default:
				continue
			}
			g.Exceeded(fmt.Sprintf("loading the plan %s and was stopped while evaluating %s. Simplify it, or give it less data.", limit, l.busy.Load()))
			return
		}
	}()
	return func() { close(done) }
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: heapMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

func (p *Place) String() string {
	switch {
	case p == nil:
		return "nothing yet"
	case p.At.Start.Line > 0:
		return fmt.Sprintf("%s (%s:%d)", p.What, p.At.Filename, p.At.Start.Line)
	default:
		return p.What
	}
}
