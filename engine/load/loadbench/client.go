package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// job is one row as a client process does it.
//
//	0 ─ streams begin, one after the other ─▶ ramp ─▶ settle ─▶ window ─▶ streams end
//
// Processor time and events are counted in the window alone, in which all
// streams are under way: so they are those of events, not of requests.
type job struct {
	URL string `json:"url"`
	// Streams at once, each with Rate events a second.
	Streams int           `json:"streams"`
	Rate    float64       `json:"rate"`
	Ramp    time.Duration `json:"ramp_ns"`
	Window  time.Duration `json:"window_ns"`
	// Batched sends the events of all streams at the same instants.
	Batched bool `json:"batched,omitempty"`
	// Clock has the floor record when it saw events.
	Clock bool `json:"clock,omitempty"`
	// Tag distinguishes the requests of one job from those of others.
	Tag string `json:"tag"`
}

const (
	firstToken = 100 * time.Millisecond
	settle     = 300 * time.Millisecond
	// perStart is the time between requests while the load rises, and maxRamp the maximum
	// duration of that.
	perStart, maxRamp = time.Millisecond, time.Second
	// patience is how long after the window a client may lag before its streams are cut
	// off.
	patience = 3 * time.Second
)

func newJob(url, tag string, streams int, rate float64, window time.Duration) job {
	return job{URL: url, Streams: streams, Rate: rate, Window: window, Tag: tag, Ramp: min(time.Duration(streams)*perStart, maxRamp)}
}

// begin is when stream i starts; from and to are the window; all since the start.
func (j job) begin(i int) time.Duration { return j.Ramp * time.Duration(i) / time.Duration(j.Streams) }
func (j job) from() time.Duration       { return j.Ramp + firstToken + settle }
func (j job) to() time.Duration         { return j.from() + j.Window }

// tokens is the length of each stream: even the first one continues until after the
// window.
func (j job) tokens() int {
	return int(math.Ceil((j.to()-firstToken+settle).Seconds()*j.Rate)) + 2
}

func (j job) prompt(series string, i int) string { return fmt.Sprintf("%s %s %d", j.Tag, series, i) }

// outcome is a client process's report about itself.
type outcome struct {
	// Events is how many arrived in the window, Received how many per second.
	Events   float64 `json:"events"`
	Received float64 `json:"received_per_s"`
	// Sent is how many events per second the server sent in the window; 0 if the role
	// does not need it.
	Sent float64 `json:"sent_per_s,omitempty"`
	// CPU is this process's processor time in the window per event, µs.
	CPU float64 `json:"cpu_us_per_event"`
	// Memory is this process's peak resident memory, in MB.
	Memory float64 `json:"rss_peak_mb"`
	// Errors against the server's truth, in ms; nil if streams were cut off because the
	// client lagged too far, or the role has no times.
	Errors *errors99 `json:"errors,omitempty"`
}

func (o *outcome) numbers() []*float64 {
	return []*float64{&o.Events, &o.Received, &o.Sent, &o.CPU, &o.Memory}
}

// errors99 are medians and 99th percentiles of absolute errors, in ms.
type errors99 struct {
	TTFTp50 float64 `json:"ttft_p50_ms"`
	TTFTp99 float64 `json:"ttft_p99_ms"`
	ITLp50  float64 `json:"itl_p50_ms"`
	ITLp99  float64 `json:"itl_p99_ms"`
	// Delayp99 is how late events were seen after they were sent, on the clock shared by
	// both processes.
	Delayp50 float64 `json:"delay_p50_ms"`
	Delayp99 float64 `json:"delay_p99_ms"`
}

func (e *errors99) numbers() []*float64 {
	return []*float64{&e.TTFTp50, &e.TTFTp99, &e.ITLp50, &e.ITLp99, &e.Delayp50, &e.Delayp99}
}

// watch is the measuring client's role: the runner and client that benchmarks use.
func watch(ctx context.Context, j job) (outcome, error) {
	client := openai.New(j.URL, "mock")
	defer client.Close()
	clock, err := mock.NewClock()
	if err != nil {
		return outcome{}, err
	}
	if _, err := load.Run(ctx, client, j.plan("warm", mock.Pacing{TTFT: 1000, ITL: 1000, Tokens: 2}, time.Now())); err != nil {
		return outcome{}, err
	}
	cut, cancel := context.WithTimeout(ctx, j.to()+patience)
	defer cancel()
	w := openWindow(j, func() int64 { return 0 })
	zero := time.Now()
	result, err := load.Run(cut, client, j.plan("watched", j.pacing(), zero))
	late := errors.Is(err, context.DeadlineExceeded) && cut.Err() != nil && ctx.Err() == nil
	if err != nil && !late {
		return outcome{}, err
	}
	<-w.done
	events, from, to := 0, w.from.Sub(zero), w.to.Sub(zero)
	for _, s := range result.Samples {
		events += between(s, from, to)
	}
	o := w.outcome(float64(events))
	truths, err := j.truths(ctx)
	if err != nil {
		return outcome{}, err
	}
	for _, t := range truths {
		low, _ := slices.BinarySearch(t.Sent, clock.At(w.from))
		high, _ := slices.BinarySearch(t.Sent, clock.At(w.to))
		o.Sent += float64(high-low) / w.length().Seconds()
	}
	if !late {
		o.Errors, err = errorsOf(result.Samples, truths, j, clock.At(zero))
	}
	return o, err
}

// plan is a job for the runner: an open loop in which all streams start within the ramp.
func (j job) plan(series string, p mock.Pacing, zero time.Time) load.Plan {
	prompts := make([]prompt.Prompt, j.Streams)
	for i := range prompts {
		prompts[i] = prompt.Prompt{Text: j.prompt(series, i), Tokens: 1, Extra: map[string]any{"mock": p}}
	}
	return load.Plan{
		Cell: "loadbench", Prompts: prompt.Prompts{Measured: prompts}, Requests: j.Streams, Zero: zero,
		Pace:         load.Pace{Arrival: load.Constant, Rate: float64(j.Streams) / j.Ramp.Seconds()},
		OutputTokens: p.Tokens, IgnoreEOS: true, RequestTimeout: 10 * time.Minute, StallTimeout: time.Minute,
	}
}

// truths are those of the job's watched and warm requests. The server notices cut streams
// when it sends their next event.
func (j job) truths(ctx context.Context) ([]mock.Truth, error) {
	for try := 0; ; try++ {
		truths, err := mock.Truths(ctx, j.URL, "")
		if err != nil || len(truths) >= 2*j.Streams || try >= 50 {
			return truths, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// between counts the events of a sample within the window.
func between(s measure.Sample, from, to time.Duration) int {
	n := 0
	for _, e := range s.Events {
		if at := s.Start + e.At; e.Kind == measure.KindText && at >= from && at < to {
			n++
		}
	}
	return n
}

// errorsOf compares what was seen with what was sent; zero is the start of the samples'
// clock.
func errorsOf(samples []measure.Sample, truths []mock.Truth, j job, zero int64) (*errors99, error) {
	name := func(s measure.Sample) string { return j.prompt("watched", s.Index) }
	found, err := mock.Compare(samples, truths, name)
	if err != nil {
		return nil, err
	}
	byID := map[string]mock.Truth{}
	for _, t := range truths {
		byID[t.ID] = t
	}
	var delays []float64
	for _, s := range samples {
		sent, i := byID[name(s)].Sent, 0
		for _, e := range s.Events {
			if e.Kind == measure.KindText {
				delays = append(delays, float64(zero+int64(s.Start+e.At)-sent[i])/1e6)
				i++
			}
		}
	}
	slices.Sort(delays)
	return &errors99{
		TTFTp50: measure.Quantile(found.TTFT, 0.5), TTFTp99: measure.Quantile(found.TTFT, 0.99),
		ITLp50: measure.Quantile(found.ITL, 0.5), ITLp99: measure.Quantile(found.ITL, 0.99),
		Delayp50: measure.Quantile(delays, 0.5), Delayp99: measure.Quantile(delays, 0.99),
	}, nil
}

// window measures this process's processor time between the start and end of its job's
// window.
type window struct {
	from, to time.Time
	used     time.Duration
	counted  float64
	done     chan struct{}
}

// openWindow also counts at both moments; counted is the difference.
func openWindow(j job, count func() int64) *window {
	w := &window{done: make(chan struct{})}
	zero := time.Now()
	go func() {
		defer close(w.done)
		time.Sleep(time.Until(zero.Add(j.from())))
		used := mock.ProcessorTime()
		w.from = time.Now()
		counted := count()
		time.Sleep(time.Until(zero.Add(j.to())))
		w.used = mock.ProcessorTime() - used
		w.to = time.Now()
		w.counted = float64(count() - counted)
	}()
	return w
}

func (w *window) length() time.Duration { return w.to.Sub(w.from) }

// outcome derives the result from the number of events.
func (w *window) outcome(events float64) outcome {
	o := outcome{Events: events, Received: events / w.length().Seconds(), Memory: peakMemory()}
	if events > 0 {
		o.CPU = float64(w.used.Nanoseconds()) / 1e3 / events
	}
	return o
}

// pacing is how the server sends the streams of a job.
func (j job) pacing() mock.Pacing {
	p := mock.Pacing{TTFT: firstToken.Microseconds(), ITL: int64(1e6 / j.Rate), Tokens: j.tokens(), PerEvent: 1}
	if j.Batched {
		p.Align = p.ITL
	}
	return p
}

// peakMemory is this process's peak resident memory, in MB; 0 without /proc. VmHWM is not
// getrusage's maximum, which a process inherits from its parent.
func peakMemory() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib * 1024 / 1e6
		}
	}
	return 0
}
