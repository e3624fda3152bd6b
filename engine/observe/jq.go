package observe

import (
	"context"
	"errors"
	"runtime/metrics"
	"time"
)

const (
	// jqMemory is how much the heap may grow while a jq expression computes, in bytes.
	// Pages and outputs are bounded, so only an expression that piles up values comes
	// near it.
	jqMemory = 1 << 30
	// jqLook is how often the heap is checked meanwhile.
	jqLook = 5 * time.Millisecond

	heapInUse = "/memory/classes/heap/objects:bytes"
)

// ErrJQMemory is the cause if a context of WithinJQ ended for lack of memory.
var ErrJQMemory = errors.New("needs more than 1 GiB of memory")

// WithinJQ bounds a jq expression in time and memory: the context ends when either runs
// out, with context.DeadlineExceeded or ErrJQMemory as its cause. The context is checked
// between two steps of an expression, not within one, so a single step that builds a huge
// value may exceed the bound.
func WithinJQ(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	timed, stopTimer := context.WithTimeout(ctx, limit)
	watched, end := context.WithCancelCause(timed)
	start := heapBytes()
	go func() {
		tick := time.NewTicker(jqLook)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if now := heapBytes(); now > start && now-start > jqMemory {
				end(ErrJQMemory)
				return
			}
		}
	}()
	return watched, func() { end(nil); stopTimer() }
}

// heapBytes is what the program's values take, including those not yet collected.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: heapInUse}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
