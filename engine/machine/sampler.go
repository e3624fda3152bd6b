package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

type SamplerConfig struct {
	// Zero is the zero of the recording's monotonic clock; the zero Time means now.
	Zero time.Time
	// GPUs are the UUIDs of those that the engine uses; if there are none, no GPU is
	// watched.
	GPUs []string
	// Every is the time between samples of a GPU and the host; 0 means 100 ms.
	Every time.Duration
	// Own returns the engine's current processes, children included, to distinguish them
	// from foreign ones; it is called about once a second. If it is nil or returns none,
	// they are unknown, and nothing is called foreign.
	Own func() []int
	// Ignore are globs of programs that may be on the GPU, IdleMiB how much memory may be
	// in use there that no process accounts for; 0 means 1024.
	Ignore  []string
	IdleMiB float64
	// Host samples this machine's processors and memory; false if the engine runs on
	// another one.
	Host bool
	// Container is the full ID of the engine's container, empty for none: a process on a GPU
	// that is in its control group is the engine's.
	Container string
	// Metrics is the engine's page of Prometheus metrics, nil for none.
	Metrics *MetricsPage
}

// Sampler samples the machine while an engine is measured: power, memory, clocks and
// temperature of its GPUs from their vendors' tools, the host's processors and memory,
// and the engine's own page of metrics. One loop takes all in, on one clock, the
// recording's; what takes long or waits (a tool, the page) delivers to it.
type Sampler struct {
	config  SamplerConfig
	ctx     context.Context
	cancel  context.CancelFunc
	sources sync.WaitGroup
	events  chan func()
	ended   chan struct{}
	page    *pageReader // nil if the engine has none

	// What follows is the loop's alone, and after it has ended Stop's.
	series map[track]*measure.Series
	notes  []note
	gpus   *gpuSamples // nil if none is watched
	host   *host       // nil if it is not sampled
	own    []int
	asked  time.Time
}

type track struct{ name, source string }

// note is one thing to know about a recording, and how often it came up.
type note struct {
	about, text string
	times       int
}

// ownEvery is how often the engine's processes are looked up.
const ownEvery = time.Second

// StartSampler begins to sample. Anything that the machine lacks, such as a GPU, is
// simply not among the series; the error is non-nil only if something requested (a GPU by
// UUID) cannot be watched. Sampling ends with ctx, but Stop must be called in any case.
func StartSampler(ctx context.Context, c SamplerConfig) (*Sampler, error) {
	s := newSampler(ctx, c)
	c = s.config
	if len(c.GPUs) > 0 {
		var err error
		if s.gpus, err = s.newGPUSamples(ctx); err != nil {
			s.cancel()
			return nil, fmt.Errorf("cannot monitor the GPUs: %w", err)
		}
		for w := s.gpus; w != nil; w = w.also {
			for _, source := range w.vendor.sources {
				s.sources.Go(func() { source(w) })
			}
		}
	}
	if c.Host {
		s.host = newHost("/", s)
	}
	if c.Metrics != nil && c.Metrics.URL != "" {
		s.page = newPageReader(*c.Metrics, s)
		s.sources.Go(s.page.run)
	}
	go s.loop()
	return s, nil
}

func newSampler(ctx context.Context, c SamplerConfig) *Sampler {
	if c.Zero.IsZero() {
		c.Zero = time.Now()
	}
	if c.Every <= 0 {
		c.Every = 100 * time.Millisecond
	}
	if c.IdleMiB <= 0 {
		c.IdleMiB = 1024
	}
	// Readers are not to wait for the loop: they take the time of what they read.
	s := &Sampler{
		config: c, events: make(chan func(), 1024), ended: make(chan struct{}),
		series: map[track]*measure.Series{},
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// loop samples the host, and takes in what the sources deliver.
func (s *Sampler) loop() {
	defer close(s.ended)
	tick := time.NewTicker(s.config.Every)
	defer tick.Stop()
	for s.tick(time.Now()); ; {
		select {
		case take := <-s.events:
			take()
		case now := <-tick.C:
			s.tick(now)
		case <-s.ctx.Done():
			for { // what came before
				select {
				case take := <-s.events:
					take()
				default:
					return
				}
			}
		}
	}
}

func (s *Sampler) tick(now time.Time) {
	due := now.Sub(s.asked) >= ownEvery
	if due {
		s.asked = now
		if s.config.Own != nil {
			s.own = s.config.Own()
		}
	}
	if s.gpus != nil {
		s.gpus.tick(now)
	}
	if s.host != nil {
		s.host.sample(s.own, due)
	}
}

// do has the loop run something.
func (s *Sampler) do(f func()) {
	select {
	case s.events <- f:
	case <-s.ctx.Done():
	}
}

// done has the loop run something, and waits until it has.
func (s *Sampler) done(f func()) {
	done := make(chan struct{})
	s.do(func() { f(); close(done) })
	select {
	case <-done:
	case <-s.ended:
	}
}

// Mark reads the engine's page once more, now, so differences of counters have a
// value at the edge of a cell. It returns after the reading.
func (s *Sampler) Mark(ctx context.Context) {
	if s.page != nil {
		s.page.read(ctx, markLimit)
	}
}

const (
	// lead is how long GPUs are watched before the first request to an engine, so
	// there are readings before it, and of their power when idle.
	lead = 1500 * time.Millisecond
	// hostReading is long enough for one more reading.
	hostReading = 120 * time.Millisecond
)

// Lead waits until there are readings before a window; started is when the sampler was.
func (s *Sampler) Lead(ctx context.Context, started time.Time) error {
	wait := lead - time.Since(started)
	if wait <= 0 || len(s.config.GPUs) == 0 || sleep(ctx, wait) {
		return nil
	}
	return context.Cause(ctx)
}

// Rest waits for the readings after the last window: energy up to its end needs one.
func (s *Sampler) Rest(ctx context.Context) {
	wait := time.Duration(0)
	if s.config.Host {
		wait = hostReading
	}
	for w := s.gpus; w != nil; w = w.also {
		wait = max(wait, w.vendor.next)
	}
	sleep(ctx, wait)
}

// Stop ends sampling and waits until nothing of it runs. notes are what could not be
// watched, and why. It may be called again.
func (s *Sampler) Stop() (all []measure.Series, notes []string) {
	s.cancel()
	<-s.ended
	s.sources.Wait()
	if s.page != nil {
		s.page.finish()
		s.page = nil
	}
	if s.gpus != nil {
		s.gpus.finish()
	}
	s.gpus, s.host = nil, nil
	for _, one := range s.series {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b measure.Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	for _, n := range s.notes {
		if n.times > 1 {
			n.text += fmt.Sprintf(" (and %d times more)", n.times-1)
		}
		notes = append(notes, n.text)
	}
	return all, notes
}

// add records one value. It is dropped if it is not finite, is before the recording's
// zero, or is not later than the last of its series.
func (s *Sampler) add(name, source, unit string, at time.Time, v float64) {
	after := at.Sub(s.config.Zero)
	if v-v != 0 || after < 0 {
		return
	}
	k := track{name, source}
	one := s.series[k]
	if one == nil {
		one = &measure.Series{Name: name, Source: source, Unit: unit}
		s.series[k] = one
	}
	if n := len(one.At); n == 0 || after > one.At[n-1] {
		one.At, one.Value = append(one.At, after), append(one.Value, v)
	}
}

// tell adds a note. Of several about the same thing, the first is kept and the others are
// counted.
func (s *Sampler) tell(about, format string, args ...any) {
	for i := range s.notes {
		if s.notes[i].about == about {
			s.notes[i].times++
			return
		}
	}
	s.notes = append(s.notes, note{about, fmt.Sprintf(format, args...), 1})
}

// seconds is a time on the recording's clock.
func (s *Sampler) seconds(at time.Time) float64 { return at.Sub(s.config.Zero).Seconds() }
