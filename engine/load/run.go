package load

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Result is what a run of one cell left behind.
type Result struct {
	// Samples are all requests in the order in which they were due.
	Samples []measure.Sample
	// From is when the first measured request was due and To when the last one
	// had ended, since Plan.Zero. Both are the same where none was sent.
	From, To time.Duration
	// Delay is measure.ClientDelay over the run.
	Delay measure.Series
}

// Run sends a plan's requests at its pace: warm-ups, then what is measured. The
// first request of a fresh engine goes alone, whichever it is, because kernels
// may be compiled for it; a measured phase that begins with it goes on at its
// pace when it has been answered.
//
// A request that fails beyond MaxErrors ends the run, because an engine that
// has failed is not the engine that was to be measured. Then the error says
// which request it was and wraps the Streamer's error; what is in flight is
// cancelled, and the result holds everything so far, failed and cancelled
// requests with their Err set. When ctx ends, its error is returned. Nothing is
// left running.
func Run(ctx context.Context, engine Streamer, p Plan) (Result, error) {
	return run(ctx, engine, p, newAlarm)
}

func run(ctx context.Context, engine Streamer, p Plan, alarms func(context.Context) alarm) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	began := time.Now()
	if p.Zero.IsZero() {
		p.Zero = began
	}
	var arrivals []time.Duration
	if p.Pace.Open() {
		var err error
		if arrivals, err = p.arrivals(); err != nil {
			return Result{}, err
		}
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{parent: ctx, ctx: inner, cancel: cancel, engine: engine, plan: p, alarms: alarms, total: p.Total(), fresh: p.Fresh}

	var delay measure.Series
	var watching sync.WaitGroup
	watched, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	watching.Go(func() {
		wake := alarms(watched)
		defer wake.close()
		delay = watchDelay(watched, wake, p.Zero)
	})
	r.all(arrivals)
	stopWatching()
	watching.Wait()

	slices.SortStableFunc(r.samples, func(a, b measure.Sample) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Turn, b.Turn))
	})
	result := Result{Samples: r.samples, From: r.from, To: r.to, Delay: delay}
	if !r.measuring {
		result.From = time.Since(p.Zero)
		result.To = result.From
	}
	return result, r.err
}

// runner is a run under way.
type runner struct {
	parent, ctx context.Context
	cancel      context.CancelCauseFunc
	engine      Streamer
	plan        Plan
	alarms      func(context.Context) alarm
	total       int

	mu      sync.Mutex
	fresh   bool
	samples []measure.Sample
	// from and to are Result's, once a measured request was sent.
	from, to  time.Duration
	measuring bool
	// end is when a Duration ends, once it has begun.
	end          time.Time
	done, failed int
	err          error
}

// stillFresh reports whether nothing has been sent to a fresh engine yet.
func (r *runner) stillFresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fresh
}

// takeFirst reports, once, that the next request is the first of a fresh engine.
func (r *runner) takeFirst() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.fresh
	r.fresh = false
	return first
}

// stopped reports whether nothing more may be sent, and keeps ctx's error if
// that is why.
func (r *runner) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.parent.Err(); err != nil && r.err == nil {
		r.err = err
	}
	return r.err != nil
}

// since is a time on the recording's clock.
func (r *runner) since(t time.Time) time.Duration { return t.Sub(r.plan.Zero) }
