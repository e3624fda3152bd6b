// Package load sends prompts to an engine on schedule or in a closed loop, and checks the
// counts and times of the answers. Prompts come from engine/load/prompt, requests go
// through engine/openai, times are interpreted by engine/measure and texts by
// engine/answers. It reports findings, and gates judge.
package load

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	// Prompts are what is sent, warm-ups first; most are conversations of one turn, and
	// one request each. Every arm of a comparison gets the same. Warm-ups of an open loop
	// go at a closed loop's pace, a few at a time.
	Prompts prompt.Prompts
	// Request is what each request has besides its prompt: API, sampling, and the maximum
	// of tokens for prompts without their own, which with IgnoreEOS is the exact number.
	// FirstTimeout replaces its Timeouts for the first request of a fresh engine, if it is
	// longer: kernels may be compiled then. Zero is no limit.
	Request      openai.Request
	FirstTimeout time.Duration
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
	if p.Cell == "" || len(p.Prompts.Measured) == 0 {
		return fmt.Errorf("cell %q: %d prompts to measure, required ≥ 1", p.Cell, len(p.Prompts.Measured))
	}
	for i, turn := range p.turns() {
		if r := p.request(turn, false); r.MaxTokens < 1 {
			return fmt.Errorf("cell %s, prompt %d: output of %d tokens, required ≥ 1", p.Cell, i, r.MaxTokens)
		}
	}
	if err := p.Pace.check(); err != nil {
		return fmt.Errorf("cell %s: %w", p.Cell, err)
	}
	return nil
}

// turns are all messages that the user sends, warm-ups first, with the number of their
// conversation.
func (p Plan) turns() iter.Seq2[int, *prompt.Prompt] {
	return func(yield func(int, *prompt.Prompt) bool) {
		for i, one := range slices.Concat(p.Prompts.Warmup, p.Prompts.Measured) {
			for turn := &one; turn != nil; turn = turn.Next {
				if !yield(i, turn) {
					return
				}
			}
		}
	}
}

// Total is how many requests the plan sends: every turn of every conversation,
// warm-ups, and contexts that are cached first.
func (p Plan) Total() (n int) {
	for _, turn := range p.turns() {
		if n++; p.CacheContext && turn.Context != "" {
			n++
		}
	}
	return n
}

// request is the plan's request for a prompt, without its words.
func (p Plan) request(prompt *prompt.Prompt, first bool) openai.Request {
	r := p.Request
	r.ContinuousUsage = true
	if prompt.Output > 0 {
		r.MaxTokens = prompt.Output
	}
	if limits := r.Timeouts; first {
		r.Timeouts.First = p.FirstTimeout
		r.Timeouts.Total, r.Timeouts.Stall = longer(limits.Total, p.FirstTimeout), longer(limits.Stall, p.FirstTimeout)
	}
	return r
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
	// Recorded: as prompts say (prompt.Prompt.At), in their order.
	Recorded Arrival = "recorded"
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
	Seed     int64
	// Ramp sends the warm-ups of an open loop as its first arrivals, on schedule, so the
	// measured ones meet a server at work.
	Ramp bool
	// Drain is how long answers may take after the last arrival of an open loop; the
	// requests still in flight then fail. 0 waits for all.
	Drain time.Duration
}

// Open reports whether requests are sent by schedule.
func (p Pace) Open() bool { return p.Arrival != "" }

const (
	// maxRate limits the requests per second of an open loop, maxSchedule its length.
	maxRate     = 1e6
	maxSchedule = 30 * 24 * time.Hour
)

func (p Pace) check() error {
	switch {
	case p.Concurrency < 0 || p.MaxConcurrency < 0 || p.Duration < 0:
		return fmt.Errorf("concurrency %d, max_concurrency %d, duration %v: must not be negative", p.Concurrency,
			p.MaxConcurrency, p.Duration)
	case !p.Open() && p.Rate != 0:
		return fmt.Errorf("a rate of %v requests per second needs an arrival: constant or poisson", p.Rate)
	case !p.Open():
		return nil
	case p.Arrival == Recorded && p.Rate == 0:
		return nil
	case p.Arrival != Constant && p.Arrival != Poisson:
		return fmt.Errorf("unknown arrival %q: use constant or poisson", p.Arrival)
	case !(p.Rate > 0 && p.Rate <= maxRate): // NaN is neither
		return fmt.Errorf("rate of %v requests per second, required > 0 and ≤ %g", p.Rate, maxRate)
	}
	return nil
}

// schedule is when each of n conversations of an open loop begins, since the first; those
// after the end of a Duration are left out.
func (p Plan) schedule(n int) (at []time.Duration, err error) {
	if p.Pace.Arrival != Recorded {
		return p.Pace.arrivals(n)
	}
	for _, one := range p.Prompts.Measured {
		at = append(at, one.At)
	}
	return at, nil
}

// ErrUndrained is why a request failed that was in flight at the end of Pace.Drain.
var ErrUndrained = errors.New("not answered by the end of the drain")

// During is how many arrivals of an open loop are scheduled within a time from its start.
func (p Pace) During(d time.Duration) (n int, err error) {
	if err := p.check(); err != nil {
		return 0, err
	}
	p.Duration = d
	at, err := p.arrivals(int(min(p.Rate*d.Seconds()*2+100, maxRate)))
	return len(at), err
}

// arrivals returns when each of n requests of an open loop is scheduled, since the first,
// which is scheduled at once; those after Duration are left out. It has no clock and no
// state: the same pace gives the same arrivals, so every arm of a comparison meets the
// same crowd.
func (p Pace) arrivals(n int) (at []time.Duration, err error) {
	r := rand.New(rand.NewPCG(uint64(p.Seed), 0x6d78666c6f77)) // a separate stream: "mxflow"
	passed := 0.0                                              // in units of the mean gap
	for i := range n {
		switch {
		case i == 0:
		case p.Arrival == Poisson:
			passed -= math.Log1p(-r.Float64()) // exponential, by inversion
		default:
			passed++
		}
		seconds := passed / p.Rate
		if !(seconds < maxSchedule.Seconds()) {
			return nil, fmt.Errorf("request %d of %d would be due after more than %v: raise the rate, or send fewer",
				i, n, maxSchedule)
		}
		// Whole microseconds: finer than any engine, and identical wherever the last bits
		// of floating point differ.
		next := time.Duration(math.Round(seconds*1e6)) * time.Microsecond
		if i > 0 && p.Duration > 0 && next >= p.Duration {
			break
		}
		at = append(at, next)
	}
	return at, nil
}
