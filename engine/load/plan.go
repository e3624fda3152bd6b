// Package load knows when and in which order prompts are sent to an engine, and what must
// be true of their answers' counts and times for the measurement to count. It does not
// know what prompts are made of (engine/load/prompt), how a request is sent
// (engine/openai), what its times mean (engine/measure), whether answers read as text
// (engine/load/coherence), or what follows from a finding: it reports, and gates judge.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Streamer sends one request and watches the answer; *openai.Client is one.
type Streamer interface {
	Stream(ctx context.Context, r openai.Request) (measure.Sample, error)
}

// Plan is one cell of a workload as sent during one launch.
type Plan struct {
	// Cell is the cell's address and marks its samples: "chat", "chat.o32".
	Cell string
	// Prompts are what is sent. Every arm of a comparison gets the same.
	Prompts prompt.Prompts
	// Warmup conversations go first, then Requests that are measured; most have one turn
	// and are one request each. Warm-ups of an open loop go at a closed loop's pace, a
	// few at a time.
	Requests, Warmup int
	// Pace is when they are sent; the zero value sends one at a time.
	Pace Pace
	// CacheContext sends each prompt's context alone, for one token, before the prompt,
	// so the engine finds it in its prefix cache. No context is computed while a prompt
	// is measured: a closed loop goes in rounds, first the contexts of as many as it
	// keeps in flight, then their prompts; an open loop starts when all its contexts are
	// cached.
	CacheContext bool
	// Zero is the start of the recording's monotonic clock, to which samples' times
	// refer; the zero Time means the start of the run.
	Zero time.Time
	// Retries is how often a request that the engine defers (429 or 503 with Retry-After)
	// is sent again, MaxErrors how many requests may fail before the run ends with the
	// error of the last, warm-ups included. A failed turn ends its conversation.
	Retries, MaxErrors int
	// OutputTokens is the maximum of tokens per answer, and with IgnoreEOS the exact
	// number.
	OutputTokens int
	API          openai.API
	Temperature  float64
	// TopP, TopK, MinP and RepetitionPenalty are sent unless zero.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// Seed of the sampling; nil sends none.
	Seed      *int64
	IgnoreEOS bool
	// RequestTimeout limits a request, StallTimeout the wait between its events.
	// FirstTimeout replaces both for the first request of a fresh engine, if it is
	// longer: kernels may be compiled then. Zero is no limit.
	RequestTimeout, FirstTimeout, StallTimeout time.Duration
	// Fresh is set if the engine has answered no request of a workload since its start.
	// It has answered one for a single token, but the shapes of this one may still have
	// to be compiled.
	Fresh bool
	// Begin, if set, is called once, after the warm-ups and before the first measured
	// request; it takes none of the measured time.
	Begin func()
	// Progress, if set, is called after every answered request, one call at a time, with
	// how many of Total are, warm-ups and contexts included. A Duration may end a run
	// before all are.
	Progress func(done int)
}

func (p Plan) check() error {
	switch {
	case p.Cell == "":
		return fmt.Errorf("a plan needs a cell")
	case p.Requests < 1 || p.Warmup < 0:
		return fmt.Errorf("cell %s: %d requests and %d warm-ups, required ≥ 1 and ≥ 0", p.Cell, p.Requests, p.Warmup)
	case p.OutputTokens < 0 || p.Retries < 0 || p.MaxErrors < 0:
		return fmt.Errorf("cell %s: output of %d tokens, %d retries, %d errors: must not be negative", p.Cell, p.OutputTokens, p.Retries, p.MaxErrors)
	case len(p.Prompts.Measured) < p.Requests || len(p.Prompts.Warmup) < p.Warmup:
		return fmt.Errorf("cell %s: %d prompts and %d for warm-up, required %d and %d: a prompt sent twice could be answered from a cache",
			p.Cell, len(p.Prompts.Measured), len(p.Prompts.Warmup), p.Requests, p.Warmup)
	}
	if err := p.Pace.check(); err != nil {
		return fmt.Errorf("cell %s: %w", p.Cell, err)
	}
	if err := p.checkPrompts("warm-up prompt", p.Prompts.Warmup[:p.Warmup]); err != nil {
		return err
	}
	return p.checkPrompts("prompt", p.Prompts.Measured[:p.Requests])
}

func (p Plan) checkPrompts(name string, prompts []prompt.Prompt) error {
	for i := range prompts {
		if err := prompts[i].Check(p.API); err != nil {
			return fmt.Errorf("cell %s, %s %d: %w", p.Cell, name, i, err)
		}
		for turn := &prompts[i]; turn != nil; turn = turn.Next {
			if p.output(turn) < 1 {
				return fmt.Errorf("cell %s, %s %d: output of %d tokens, required ≥ 1", p.Cell, name, i, p.output(turn))
			}
		}
	}
	return nil
}

// Total is how many requests the plan sends: every turn of every conversation,
// warm-ups, and contexts that are cached first.
func (p Plan) Total() int {
	n := 0
	for _, prompts := range [][]prompt.Prompt{p.Prompts.Warmup[:min(p.Warmup, len(p.Prompts.Warmup))], p.Prompts.Measured[:min(p.Requests, len(p.Prompts.Measured))]} {
		for i := range prompts {
			n += prompts[i].Turns()
			if _, has := prompts[i].ContextAlone(); has && p.CacheContext {
				n++
			}
		}
	}
	return n
}

// output is the length of the answer to a prompt.
func (p Plan) output(prompt *prompt.Prompt) int {
	if prompt.Output > 0 {
		return prompt.Output
	}
	return p.OutputTokens
}

// request is the plan's request for a prompt, without its words.
func (p Plan) request(prompt *prompt.Prompt, first bool) openai.Request {
	limits := openai.Timeouts{Total: p.RequestTimeout, Stall: p.StallTimeout}
	if first {
		limits = openai.Timeouts{
			Total: longer(p.RequestTimeout, p.FirstTimeout),
			First: p.FirstTimeout,
			Stall: longer(p.StallTimeout, p.FirstTimeout),
		}
	}
	return openai.Request{
		API: p.API, MaxTokens: p.output(prompt), Temperature: p.Temperature,
		TopP: p.TopP, TopK: p.TopK, MinP: p.MinP, RepetitionPenalty: p.RepetitionPenalty,
		Seed: p.Seed, IgnoreEOS: p.IgnoreEOS, Timeouts: limits, ContinuousUsage: true,
	}
}

// arrivals are when the measured conversations of an open loop are scheduled, within
// Duration.
func (p Plan) arrivals() ([]time.Duration, error) {
	at, err := p.Pace.arrivals(p.Requests)
	if err != nil {
		return nil, fmt.Errorf("cell %s: %w", p.Cell, err)
	}
	if p.Pace.Duration == 0 {
		return at, nil
	}
	within, _ := slices.BinarySearch(at, p.Pace.Duration) // the first is at 0
	return at[:within], nil
}

// longer is the laxer of two limits, where zero is none.
func longer(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// Arrival is the process by which requests of an open loop arrive.
type Arrival string

const (
	// Constant: evenly spaced.
	Constant Arrival = "constant"
	// Poisson: exponential gaps, as of many independent users.
	Poisson Arrival = "poisson"
)

// Pace is when the measured requests of a cell are sent.
type Pace struct {
	// Concurrency is how many requests a closed loop keeps in flight: each answer makes
	// room for the next. 0 is 1.
	Concurrency int
	// Arrival makes the loop open: requests are sent as scheduled, however slow the
	// answers are, at Rate per second on average. Empty is a closed loop.
	Arrival Arrival
	Rate    float64
	// MaxConcurrency caps an open loop; requests scheduled beyond it wait, and their
	// latency counts from the schedule. 0 is no cap.
	MaxConcurrency int
	// Duration ends sending, counted from the first measured request, or from the end of
	// the first one of a fresh engine, which goes alone. Requests in flight then are
	// still answered and measured, and in an open loop those scheduled before the end are
	// still sent, however late: leaving out those that the engine kept waiting would
	// leave out the worst. Conversations are not continued. 0 sends all requests.
	Duration time.Duration
	// Seed fixes the arrivals.
	Seed int64
}

// Open reports whether requests are sent by schedule.
func (p Pace) Open() bool { return p.Arrival != "" }

// maxRate limits the requests per second of an open loop.
const maxRate = 1e6

func (p Pace) check() error {
	switch {
	case p.Concurrency < 0 || p.MaxConcurrency < 0 || p.Duration < 0:
		return fmt.Errorf("concurrency %d, max_concurrency %d, duration %v: must not be negative", p.Concurrency, p.MaxConcurrency, p.Duration)
	case !p.Open() && p.Rate != 0:
		return fmt.Errorf("a rate of %v requests per second needs an arrival: constant or poisson", p.Rate)
	case !p.Open():
		return nil
	case p.Arrival != Constant && p.Arrival != Poisson:
		return fmt.Errorf("unknown arrival %q: use constant or poisson", p.Arrival)
	case !(p.Rate > 0 && p.Rate <= maxRate): // NaN is neither
		return fmt.Errorf("rate of %v requests per second, required > 0 and ≤ %g", p.Rate, maxRate)
	}
	return nil
}

// arrivals returns when each of n requests of an open loop is scheduled, since the first,
// which is scheduled at once. It has no clock and no state: the same pace gives the same
// arrivals, so every arm of a comparison meets the same crowd.
func (p Pace) arrivals(n int) ([]time.Duration, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !p.Open() {
		return nil, errors.New("a closed loop has no arrivals")
	}
	r := rand.New(rand.NewPCG(uint64(p.Seed), 0x6d78666c6f77)) // a separate stream: "mxflow"
	at := make([]time.Duration, max(n, 0))
	passed := 0.0 // in units of the mean gap
	for i := range at {
		switch {
		case i == 0:
		case p.Arrival == Poisson:
			passed += exponential(r)
		default:
			passed++
		}
		seconds := passed / p.Rate
		if !(seconds < maxArrival.Seconds()) {
			return nil, fmt.Errorf("request %d of %d would be due after more than %v: raise the rate, or send fewer", i, n, maxArrival)
		}
		// Whole microseconds: finer than any engine, and identical wherever the last bits
		// of floating point differ.
		at[i] = time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	}
	return at, nil
}

// maxArrival limits the length of a schedule.
const maxArrival = 30 * 24 * time.Hour

// exponential draws from the exponential distribution of mean 1 by inversion.
func exponential(r *rand.Rand) float64 { return -math.Log1p(-r.Float64()) }
