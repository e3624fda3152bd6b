package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/mock"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// watch is the measuring client's role: the runner and the client that
// benchmarks are sent with.
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
	w := openWindow(j)
	zero := time.Now()
	result, err := load.Run(cut, client, j.plan("watched", j.pacing(), zero))
	late := errors.Is(err, context.DeadlineExceeded) && cut.Err() != nil && ctx.Err() == nil
	if err != nil && !late {
		return outcome{}, err
	}
	w.wait()
	var o outcome
	o.Memory = peakMemory()
	from, to := w.from.Sub(zero), w.to.Sub(zero)
	for _, s := range result.Samples {
		o.Events += between(s, from, to)
	}
	w.finish(&o)
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

// plan is a job for the runner: an open loop, in which all streams begin within
// the ramp.
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

// truths are those of the job's watched and warm requests. The server notices
// streams that were cut off when it sends their next event.
func (j job) truths(ctx context.Context) ([]mock.Truth, error) {
	for try := 0; ; try++ {
		truths, err := mock.Truths(ctx, j.URL, "")
		if err != nil || len(truths) >= 2*j.Streams || try >= 50 {
			return truths, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// between counts the events of a sample that came in the window.
func between(s measure.Sample, from, to time.Duration) int {
	n := 0
	for _, e := range s.Events {
		if at := s.Start + e.At; e.Kind == measure.KindText && at >= from && at < to {
			n++
		}
	}
	return n
}

// errorsOf compares what was seen with what was sent; zero is that of the
// samples' times.
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
