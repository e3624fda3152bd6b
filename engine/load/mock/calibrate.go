package mock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Spec is the parameters of a calibration.
type Spec struct {
	// Command runs the mock as a program (Main), with Env added to this process's
	// environment.
	Command, Env []string
	// Streams at once, each with Rate events a second: those of the benchmark.
	Streams int
	Rate    float64
	// Duration is how long the streams are watched; 0 is 1.2 s. Slow streams take longer,
	// until each has had 3 events.
	Duration time.Duration
	// API is the endpoint; empty is completions.
	API openai.API
	// Client makes the client under calibration; nil is openai.New.
	Client func(baseURL string) load.Streamer
}

const (
	// watched is the default of Spec.Duration, and leastEvents the minimum of events per
	// stream: gaps need two.
	watched     = 1200 * time.Millisecond
	leastEvents = 3
	// firstToken is the TTFT of the streams.
	firstToken = 50 * time.Millisecond
	// perStart is the time between requests, and maxRamp the maximum duration of that:
	// sent at one instant, requests would wait for each other in the client, which is not
	// an error of a continuous load.
	perStart, maxRamp = 500 * time.Microsecond, time.Second
	// limit bounds a whole calibration, whatever the machine.
	limit = 30 * time.Second
)

func (s *Spec) check() error {
	if s.Streams < 1 || s.Streams > 1<<16 {
		return fmt.Errorf("calibration with %d streams: use 1 to %d", s.Streams, 1<<16)
	}
	if !(s.Rate > 0) || math.IsInf(s.Rate, 0) || s.Rate > 1e6 {
		return fmt.Errorf("calibration at %v events per second: use more than 0 and at most 1000000", s.Rate)
	}
	if s.Duration < 0 {
		return fmt.Errorf("calibration for %v: use a positive duration", s.Duration)
	}
	if s.Duration == 0 {
		s.Duration = watched
	}
	return nil
}

// Calibrate measures the measuring client: it starts a mock server in its own process,
// sends it requests by load.Run through a client, and compares what the client saw with
// what the server sent. An error means that there is no calibration; Verdict decides
// whether one is good enough.
func Calibrate(ctx context.Context, spec Spec) (measure.Calibration, error) {
	none := measure.Calibration{Streams: spec.Streams, Rate: spec.Rate}
	if err := spec.check(); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("the calibration of the client took too long"))
	defer cancel()
	server, err := StartChild(ctx, spec.Command, spec.Env...)
	if err != nil {
		return none, fmt.Errorf("calibrating the client: %w", err)
	}
	defer server.Stop()
	c, err := spec.against(ctx, server.URL)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return none, fmt.Errorf("calibrating the client: %w", err)
	}
	return c, nil
}

// against calibrates with the mock at a URL.
func (s Spec) against(ctx context.Context, url string) (measure.Calibration, error) {
	engine := load.Streamer(nil)
	if s.Client != nil {
		engine = s.Client(url)
	} else {
		client := openai.New(url, "mock")
		defer client.Close()
		engine = client
	}
	// Connections are opened and code is warm before what counts, as in a benchmark with
	// warm-ups.
	if _, err := s.send(ctx, engine, "warm", Pacing{TTFT: 1000, ITL: 1000}, 2); err != nil {
		return measure.Calibration{}, err
	}
	if err := Forget(ctx, url); err != nil {
		return measure.Calibration{}, err
	}
	// All streams are under way for Duration.
	tokens := max(leastEvents, int(math.Ceil((s.ramp()+s.Duration).Seconds()*s.Rate)))
	before := ProcessorTime()
	result, err := s.send(ctx, engine, "watched", Pacing{
		TTFT: firstToken.Microseconds(), ITL: int64(math.Round(1e6 / s.Rate)),
	}, tokens)
	used := ProcessorTime() - before
	if err != nil {
		return measure.Calibration{}, err
	}
	truths, err := Truths(ctx, url, "")
	if err != nil {
		return measure.Calibration{}, err
	}
	found, err := Compare(result.Samples, truths, func(m measure.Sample) string { return s.prompt("watched", m.Index) })
	if err != nil {
		return measure.Calibration{}, err
	}
	return s.calibration(found, used), nil
}

// prompt is the text of a request, by which its truth is found.
func (s Spec) prompt(series string, i int) string { return fmt.Sprintf("calibration %s %d", series, i) }

// send sends a request per stream, evenly spaced.
func (s Spec) send(ctx context.Context, engine load.Streamer, series string, pacing Pacing, tokens int) (load.Result, error) {
	prompts := make([]prompt.Prompt, s.Streams)
	for i := range prompts {
		prompts[i] = prompt.Prompt{Text: s.prompt(series, i), Tokens: 1, Extra: map[string]any{"mock": pacing}}
	}
	return load.Run(ctx, engine, load.Plan{
		Cell: "calibration", Prompts: prompt.Prompts{Measured: prompts}, Requests: s.Streams,
		Pace:         load.Pace{Arrival: load.Constant, Rate: float64(s.Streams) / (s.ramp() + perStart).Seconds()},
		OutputTokens: tokens, API: s.API, RequestTimeout: limit,
	})
}

// ramp is how long it takes until all requests are sent.
func (s Spec) ramp() time.Duration { return min(time.Duration(s.Streams-1)*perStart, maxRamp) }

// calibration converts the result for the record.
func (s Spec) calibration(found Errors, used time.Duration) measure.Calibration {
	c := measure.Calibration{
		Streams: s.Streams, Rate: s.Rate, Requests: found.Requests, Events: found.Events,
		TTFTp50: measure.Quantile(found.TTFT, 0.5), TTFTp99: measure.Quantile(found.TTFT, 0.99),
		ITLp50: measure.Quantile(found.ITL, 0.5), ITLp99: measure.Quantile(found.ITL, 0.99),
		CPU: float64(used.Microseconds()) / float64(found.Events),
	}
	if found.ClientSpan > 0 {
		c.Delivered = float64(found.Gaps) / found.ClientSpan.Seconds() / s.Rate
	}
	return c
}

// Errors are how far a client's times are from the server's, as absolute differences in
// ms, ascending.
type Errors struct {
	// TTFT has one value per request: the client's time to the first text against the
	// time from the request's arrival to the sending of that text. As in every metric,
	// the client's time counts from the schedule in an open loop.
	TTFT []float64
	// ITL has one value per pair of events: the client's gap against the server's.
	ITL []float64
	// Requests and Events are how many were compared. ClientSpan and ServerSpan are the
	// times from the first to the last event, summed over requests, and Gaps the number
	// of gaps in them.
	Requests, Events, Gaps int
	ClientSpan, ServerSpan time.Duration
}

// Compare finds for each sample the truth whose ID name gives, and compares them event by
// event. It returns an error if a sample failed, has no truth, or has other events than
// were sent: nothing is left out.
func Compare(samples []measure.Sample, truths []Truth, name func(measure.Sample) string) (Errors, error) {
	byID := make(map[string]Truth, len(truths))
	for _, t := range truths {
		byID[t.ID] = t
	}
	var e Errors
	for _, s := range samples {
		id := name(s)
		t, ok := byID[id]
		switch {
		case s.Err != "":
			return Errors{}, fmt.Errorf("request %q failed: %s", id, s.Err)
		case !ok:
			return Errors{}, fmt.Errorf("the mock server has no request %q", id)
		}
		lag := time.Duration(0)
		if s.OpenLoop {
			lag = s.Start - s.Scheduled
		}
		if err := e.add(s.Events, lag, t); err != nil {
			return Errors{}, fmt.Errorf("request %q: %w", id, err)
		}
	}
	slices.Sort(e.TTFT)
	slices.Sort(e.ITL)
	return e, nil
}

// add compares one answer, whose request was sent lag too late.
func (e *Errors) add(events []measure.Event, lag time.Duration, t Truth) error {
	i := 0
	var first, before time.Duration
	for _, seen := range events {
		if seen.Kind != measure.KindText {
			continue
		}
		switch {
		case i >= len(t.Sent):
			return fmt.Errorf("the client saw more than the %d events sent", len(t.Sent))
		case i == 0:
			first = seen.At
			e.TTFT = append(e.TTFT, off(lag+seen.At-t.TTFT()))
		default:
			e.ITL = append(e.ITL, off(seen.At-before-time.Duration(t.Sent[i]-t.Sent[i-1])))
		}
		before = seen.At
		i++
	}
	if i != len(t.Sent) || i == 0 {
		return fmt.Errorf("the client saw %d of %d events sent", i, len(t.Sent))
	}
	e.Requests++
	e.Events += i
	e.Gaps += i - 1
	e.ClientSpan += before - first
	e.ServerSpan += time.Duration(t.Sent[i-1] - t.Sent[0])
	return nil
}

func off(d time.Duration) float64 { return math.Abs(float64(d)) / float64(time.Millisecond) }

// leastDelivered is the share of the planned events per second below which the client, or
// the machine, cannot keep up.
const leastDelivered = 0.95

// Verdict is why a calibration is not good enough for measurements whose times may be off
// by limit; empty if it is.
func Verdict(c measure.Calibration, limit time.Duration) (why string) {
	most := float64(limit) / float64(time.Millisecond)
	if limit <= 0 {
		return fmt.Sprintf("the limit for the client's own error must be positive, not %v", limit)
	}
	if c.Requests < 1 || c.Events < 1 || c.Events < c.Requests {
		return fmt.Sprintf("the client is not calibrated: only %d requests and %d events were compared", c.Requests, c.Events)
	}
	at := fmt.Sprintf("with %d streams of %.4g events/s", c.Streams, c.Rate)
	if !(c.Delivered >= leastDelivered) || math.IsInf(c.Delivered, 0) { // NaN fails as well
		return fmt.Sprintf("%s only %.3g%% of the planned events arrived in time: this machine is too busy or too slow; "+
			"lower the concurrency, or measure from another machine", at, 100*c.Delivered)
	}
	for _, one := range []struct {
		name     string
		p50, p99 float64
	}{{"TTFT", c.TTFTp50, c.TTFTp99}, {"ITL", c.ITLp50, c.ITLp99}} {
		if !(one.p50 >= 0 && one.p99 >= 0) {
			return fmt.Sprintf("the client's own error in %s is unknown (%v, %v ms)", one.name, one.p50, one.p99)
		}
		if one.p99 > most {
			return fmt.Sprintf("%s the client's own error in %s is %.3g ms (p99; median %.3g ms; required ≤ %.3g ms): "+
				"stop other programs on this machine, lower the concurrency, or allow more", at, one.name, one.p99, one.p50, most)
		}
	}
	return ""
}
