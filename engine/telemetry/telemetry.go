// Package telemetry watches the machine while an engine is measured: power,
// memory, clocks and temperature of its GPUs from nvidia-smi's stream, the
// host's processors, memory and energy counters, and the engine's own page of
// metrics. It samples and does not judge: what comes out are measure.Series on
// the recording's clock.
package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

// Config says what is watched.
type Config struct {
	// Zero is the zero of the recording's monotonic clock; the zero Time is now.
	Zero time.Time
	// GPUs are the UUIDs of those that the engine uses; none watches no GPU.
	GPUs []string
	// Every is the time between samples of a GPU and the host; 0 is 100 ms.
	Every time.Duration
	// Own are the processes of the engine now, children included, to tell them
	// from foreign ones; it is asked about once a second, from several goroutines.
	// Nil, or none from it, means that they cannot be known, and then nothing is
	// called foreign.
	Own func() []int
	// Ignore are globs of programs that may be on the GPU, IdleMiB what may be in
	// use there that no process accounts for; 0 is 1024.
	Ignore  []string
	IdleMiB float64
	// Host watches this machine's processors, memory and energy; false where the
	// engine runs on another one.
	Host bool
	// Container is the engine's container by its full ID, empty for none; what its
	// control group holds is watched.
	Container string
	// Metrics is the engine's page of Prometheus metrics, nil for none.
	Metrics *Page
}

// Page is an engine's page of Prometheus metrics.
type Page struct {
	URL    string
	Header http.Header
	// Client's transport is copied, so that readings have a connection of their
	// own; nil makes one.
	Client *http.Client
	// Names maps mxflow's names to the engine's, as engine.Metrics does. A series
	// is called "engine." and mxflow's name; those of a metric with several lines
	// (ranks, positions) are told apart by Source, see source.
	Names map[string][]string
	// Needs are flags without which an engine of the kind has no page.
	Needs []string
	// Every is the time between readings; 0 is 250 ms. A page that is slow is
	// read less often, so that it takes no more than a tenth of the time.
	Every time.Duration
}

// Recorder watches until it is stopped.
type Recorder struct {
	config  Config
	tape    *tape
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	page    *pageReader // nil where the engine has none
}

// Start begins to watch. What the machine has not, such as a GPU or RAPL, is
// simply not among the series; the error is not nil only when something that was
// asked for (a GPU by UUID) cannot be watched. Watching ends with ctx, but Stop
// is to be called in any case.
func Start(ctx context.Context, c Config) (*Recorder, error) {
	if c.Zero.IsZero() {
		c.Zero = time.Now()
	}
	if c.Every <= 0 {
		c.Every = 100 * time.Millisecond
	}
	if c.IdleMiB <= 0 {
		c.IdleMiB = 1024
	}
	r := &Recorder{config: c, tape: newTape(c.Zero)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	if len(c.GPUs) > 0 {
		stream, err := gpu.NewStream(ctx, c.GPUs)
		if err != nil {
			r.cancel()
			return nil, fmt.Errorf("the GPUs cannot be watched: %w", err)
		}
		w := newGPUWatch(r, stream)
		r.running.Go(func() { w.stream(r.ctx) })
		r.running.Go(func() { w.processes(r.ctx) })
	}
	if c.Host {
		r.running.Go(func() { r.watchHost(r.ctx) })
	}
	if c.Metrics != nil && c.Metrics.URL != "" {
		r.page = newPageReader(*c.Metrics, r.tape)
		r.running.Go(func() { r.page.run(r.ctx) })
	}
	return r, nil
}

// own are the engine's processes now, nil where they are not known.
func (r *Recorder) own() []int {
	if r.config.Own == nil {
		return nil
	}
	return r.config.Own()
}

// Mark has the engine's page read once more, now, so that differences of
// counters have a value at the edge of a cell. It returns when it was read.
func (r *Recorder) Mark(ctx context.Context) {
	if r.page != nil {
		r.page.read(ctx, markLimit)
	}
}

// Stop ends watching and waits until nothing of it runs. Notes say what could
// not be watched, and why. It may be called again.
func (r *Recorder) Stop() (series []measure.Series, notes []string) {
	r.cancel()
	r.running.Wait()
	if r.page != nil {
		r.page.finish()
	}
	r.unseen()
	return r.tape.done()
}
