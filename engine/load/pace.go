package load

import (
	"fmt"
	"math"
	"time"
)

// Arrival is the process by which requests of an open loop arrive.
type Arrival string

const (
	// Constant: evenly spaced.
	Constant Arrival = "constant"
	// Poisson: exponential gaps, as of many independent users.
	Poisson Arrival = "poisson"
	// Gamma: gaps of a gamma distribution with shape Burstiness; 1 is Poisson,
	// less is burstier.
	Gamma Arrival = "gamma"
	// Trace: when the prompts' own times say (Prompt.At).
	Trace Arrival = "trace"
)

// Pace says when the measured requests of a cell are sent.
type Pace struct {
	// Concurrency is how many requests a closed loop keeps in flight: each
	// answered one makes place for the next. 0 is 1.
	Concurrency int
	// Arrival makes the loop open: requests are sent when they are scheduled,
	// however slow the answers are, at Rate a second on average. Empty is a closed
	// loop. RateTo, where set, is what Rate grows or falls to, linearly, over the
	// run's requests or Duration.
	Arrival      Arrival
	Rate, RateTo float64
	// Burstiness is the shape of Gamma.
	Burstiness float64
	// MaxConcurrency caps an open loop; what is scheduled beyond waits, and its
	// latency counts from when it was scheduled. 0 is no cap.
	MaxConcurrency int
	// Duration ends sending, counted from the first measured request, or from the
	// end of the first one of a fresh engine, which goes alone. What is in flight
	// then is still answered and measured, and in an open loop what was scheduled
	// before the end is still sent, however late: leaving out those that the
	// engine kept waiting would leave out the worst. A conversation is not gone on
	// with. 0 sends all requests.
	Duration time.Duration
	// Seed fixes the arrivals.
	Seed int64
}

// Open reports whether requests are sent by schedule.
func (p Pace) Open() bool { return p.Arrival != "" }

// maxRate bounds the requests a second of an open loop, and minBurstiness the
// shape of its gaps from below, where nearly all of them are zero.
const maxRate, minBurstiness = 1e6, 1e-3

func (p Pace) check() error {
	inside := func(x, least, most float64) bool { return x >= least && x <= most } // false for NaN
	switch {
	case p.Concurrency < 0 || p.MaxConcurrency < 0 || p.Duration < 0:
		return fmt.Errorf("a pace of concurrency %d, at most %d, for %v: none may be negative", p.Concurrency, p.MaxConcurrency, p.Duration)
	case !p.Open() && (p.Rate != 0 || p.RateTo != 0):
		return fmt.Errorf("a rate of %v requests a second needs an arrival: constant, poisson, gamma or trace", max(p.Rate, p.RateTo))
	case !p.Open() || p.Arrival == Trace:
		return nil
	case p.Arrival != Constant && p.Arrival != Poisson && p.Arrival != Gamma:
		return fmt.Errorf("unknown arrival %q: use constant, poisson, gamma or trace", p.Arrival)
	case !inside(p.Rate, math.SmallestNonzeroFloat64, maxRate):
		return fmt.Errorf("a rate of %v requests a second: more than 0 and at most %g are possible", p.Rate, maxRate)
	case p.RateTo != 0 && !inside(p.RateTo, math.SmallestNonzeroFloat64, maxRate):
		return fmt.Errorf("a rate that goes to %v requests a second: more than 0 and at most %g are possible", p.RateTo, maxRate)
	case p.Arrival == Gamma && !inside(p.Burstiness, minBurstiness, 1/minBurstiness):
		return fmt.Errorf("a burstiness of %v: %g to %g are possible, and 1 is poisson", p.Burstiness, minBurstiness, 1/minBurstiness)
	}
	return nil
}
