// Package telemetry watches the machine while an engine is measured: power, memory,
// clocks and temperature of its GPUs from nvidia-smi's stream, the host's processors,
// memory and energy counters, and the engine's own page of metrics. It samples and does
// not judge: its output is measure.Series on the recording's clock.
package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/gpu"
	"github.com/mxflow/mxflow/engine/measure"
)

// Config is what to watch.
type Config struct {
	// Zero is the zero of the recording's monotonic clock; the zero Time means now.
	Zero time.Time
	// GPUs are the UUIDs of those that the engine uses; if there are none, no GPU is
	// watched.
	GPUs []string
	// Every is the time between samples of a GPU and the host; 0 means 100 ms.
	Every time.Duration
	// Own returns the engine's current processes, children included, to distinguish them
	// from foreign ones; it is called about once a second, from several goroutines. If it
	// is nil or returns none, they are unknown, and nothing is called foreign.
	Own func() []int
	// Ignore are globs of programs that may be on the GPU, IdleMiB how much memory may be
	// in use there that no process accounts for; 0 means 1024.
	Ignore  []string
	IdleMiB float64
	// Host watches this machine's processors, memory and energy; false if the engine runs
	// on another one.
	Host bool
	// Container is the full ID of the engine's container, empty for none; the memory of
	// its control group is watched.
	Container string
	// Metrics is the engine's page of Prometheus metrics, nil for none.
	Metrics *Page
}

// Page is an engine's page of Prometheus metrics.
type Page struct {
	URL    string
	Header http.Header
	// Client's transport is copied, so that readings have a connection of their own; nil
	// makes a new one.
	Client *http.Client
	// Names maps mxflow's names to the engine's, as kinds.Metrics does. A series is named
	// "engine." plus mxflow's name; those of a metric with several lines (ranks,
	// positions) are distinguished by Source, see source.
	Names map[string][]string
	// Needs are flags without which an engine of the kind has no page.
	Needs []string
	// Every is the time between readings; 0 means 250 ms. A slow page is read less often,
	// so that readings take a tenth of the time, but with pauses of at most 2 s.
	Every time.Duration
}

// Recorder watches until it is stopped.
type Recorder struct {
	config  Config
	tape    *tape
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	page    *pageReader // nil if the engine has none
}

// Start begins to watch. Anything that the machine lacks, such as a GPU or RAPL, is
// simply not among the series; the error is non-nil only if something requested (a GPU by
// UUID) cannot be watched. Watching ends with ctx, but Stop must be called in any case.
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
			return nil, fmt.Errorf("cannot monitor the GPUs: %w", err)
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

// own are the engine's current processes, nil if unknown.
func (r *Recorder) own() []int {
	if r.config.Own == nil {
		return nil
	}
	return r.config.Own()
}

// Mark reads the engine's page once more, now, so that differences of counters have a
// value at the edge of a cell. It returns after the reading.
func (r *Recorder) Mark(ctx context.Context) {
	if r.page != nil {
		r.page.read(ctx, markLimit)
	}
}

const (
	// lead is how long GPUs are watched before the first request to an engine, so that
	// there are readings before it, and of their power when idle.
	lead = 1500 * time.Millisecond
	// gpuReading and hostReading are long enough for one more reading: energy up to the
	// end of a window needs one after it.
	gpuReading, hostReading = 300 * time.Millisecond, 120 * time.Millisecond
)

// Lead waits until there are readings before a window; started is when the recorder was.
func (r *Recorder) Lead(ctx context.Context, started time.Time) error {
	wait := lead - time.Since(started)
	if wait <= 0 || len(r.config.GPUs) == 0 || sleep(ctx, wait) {
		return nil
	}
	return context.Cause(ctx)
}

// Rest waits for the readings after the last window.
func (r *Recorder) Rest(ctx context.Context) {
	switch {
	case len(r.config.GPUs) > 0:
		sleep(ctx, gpuReading)
	case r.config.Host && hostEnergy():
		sleep(ctx, hostReading)
	}
}

// Stop ends watching and waits until nothing of it runs. notes are what could not be
// watched, and why. It may be called again.
func (r *Recorder) Stop() (series []measure.Series, notes []string) {
	r.cancel()
	r.running.Wait()
	if r.page != nil {
		r.page.finish()
	}
	r.unseen()
	return r.tape.done()
}

// unseen notes the GPUs without any reading: whether they throttled, and what they used,
// is unknown, and missing values must not look as if all was well.
func (r *Recorder) unseen() {
	for _, uuid := range r.config.GPUs {
		seen := false
		for _, q := range quantities {
			seen = seen || r.tape.has(q.series, uuid)
		}
		if !seen {
			r.tape.tell("unseen "+uuid, "nvidia-smi printed no readings of GPU %s: its power, memory, clocks and throttling are unknown", uuid)
		}
	}
}

// watchHost samples the host until ctx ends.
func (r *Recorder) watchHost(ctx context.Context) {
	h := newHost("/", r.tape)
	tick := time.NewTicker(r.config.Every)
	defer tick.Stop()
	var asked time.Time
	var own []int
	for {
		now := time.Now()
		due := now.Sub(asked) >= ownEvery
		if due {
			own, asked = r.own(), now
		}
		h.sample(own, due, r.config.Container)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tape holds the samples. Its methods may be called from several goroutines.
type tape struct {
	zero time.Time

	mu     sync.Mutex
	series map[track]*measure.Series
	notes  []note
}

// track identifies a series.
type track struct{ name, source string }

// note is one thing to know about a recording, and how often it came up.
type note struct {
	about, text string
	times       int
}

func newTape(zero time.Time) *tape { return &tape{zero: zero, series: map[track]*measure.Series{}} }

// add records one value. It is dropped if it is not finite, is before the recording's
// zero, or is not later than the last of its series.
func (t *tape) add(name, source, unit string, at time.Time, v float64) {
	after := at.Sub(t.zero)
	if v-v != 0 || after < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := track{name, source}
	s := t.series[k]
	if s == nil {
		s = &measure.Series{Name: name, Source: source, Unit: unit}
		t.series[k] = s
	}
	if n := len(s.At); n > 0 && after <= s.At[n-1] {
		return
	}
	s.At, s.Value = append(s.At, after), append(s.Value, v)
}

// tell adds a note. Of several about the same thing, the first is kept and the others are
// counted.
func (t *tape) tell(about, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.notes {
		if t.notes[i].about == about {
			t.notes[i].times++
			return
		}
	}
	t.notes = append(t.notes, note{about, fmt.Sprintf(format, args...), 1})
}

// untell removes the note about something.
func (t *tape) untell(about string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = slices.DeleteFunc(t.notes, func(n note) bool { return n.about == about })
}

// has reports whether a series has any value.
func (t *tape) has(name, source string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.series[track{name, source}] != nil
}

// done is everything, sorted by name and source; notes are in the order in which they
// were added.
func (t *tape) done() (series []measure.Series, notes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.series {
		series = append(series, *s)
	}
	slices.SortFunc(series, func(a, b measure.Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	for _, n := range t.notes {
		if n.times > 1 {
			n.text += fmt.Sprintf(" (and %d times more)", n.times-1)
		}
		notes = append(notes, n.text)
	}
	return series, notes
}
