package load

import "time"

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
	// Duration ends sending: what is in flight then is still answered and
	// measured. 0 sends all requests.
	Duration time.Duration
	// Seed fixes the arrivals.
	Seed int64
}

// Open reports whether requests are sent by schedule.
func (p Pace) Open() bool { return p.Arrival != "" }
