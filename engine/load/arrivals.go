package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// arrivals says when each of n requests of an open loop is scheduled, since the
// first of them, which is scheduled at once. It has no clock and no state: the
// same pace gives the same arrivals, so that every arm of a comparison meets
// the same crowd.
//
// A trace is not drawn: its times are those of the prompts (Prompt.At).
//
// The gaps are drawn for a rate of one a second and then laid along the time in
// which the rate asked for has let as many pass (a time change), so that a ramp
// keeps the shape of its process: a Poisson process stays one, with a rate that
// moves, and gamma keeps its burstiness at every rate.
func (p Pace) arrivals(n int) ([]time.Duration, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if !p.Open() || p.Arrival == Trace {
		return nil, fmt.Errorf("arrivals of kind %q are not drawn", p.Arrival)
	}
	gap := p.gaps()
	at := make([]time.Duration, max(n, 0))
	passed := 0.0
	for i := range at {
		if i > 0 {
			passed += gap()
		}
		seconds := p.when(passed, n)
		if !(seconds < maxArrival.Seconds()) {
			return nil, fmt.Errorf("request %d of %d would be due after more than %v: raise the rate or send fewer", i, n, maxArrival)
		}
		// Whole microseconds: finer than any engine, and the same wherever the last
		// bits of floating point differ.
		at[i] = time.Duration(math.Round(seconds*1e6)) * time.Microsecond
	}
	return at, nil
}

// maxArrival bounds how long a schedule may be.
const maxArrival = 30 * 24 * time.Hour

// gaps draws the time between two arrivals in units of their mean.
func (p Pace) gaps() func() float64 {
	r := rand.New(rand.NewPCG(uint64(p.Seed), 0x6d78666c6f77)) // a stream of its own: "mxflow"
	switch p.Arrival {
	case Poisson:
		return func() float64 { return exponential(r) }
	case Gamma:
		return func() float64 { return gamma(r, p.Burstiness) / p.Burstiness }
	}
	return func() float64 { return 1 }
}

// when is the time in seconds at which the rate has let so many requests pass.
// A ramp's rate is linear in time from Rate to RateTo, over Duration or, without
// one, over the time that n requests take on average, and RateTo after it. The
// number passed by t is then Rate·t + slope·t²/2, which is solved for t in the
// form that does not cancel where the slope is small or falls.
func (p Pace) when(passed float64, n int) float64 {
	if p.RateTo == 0 || p.RateTo == p.Rate {
		return passed / p.Rate
	}
	mean := (p.Rate + p.RateTo) / 2
	over := p.Duration.Seconds()
	if over == 0 {
		over = float64(n-1) / mean
	}
	if passed >= mean*over {
		return over + (passed-mean*over)/p.RateTo
	}
	slope := (p.RateTo - p.Rate) / over
	return 2 * passed / (p.Rate + math.Sqrt(p.Rate*p.Rate+2*slope*passed))
}

// exponential draws from the exponential distribution of mean 1 by inversion.
func exponential(r *rand.Rand) float64 { return -math.Log1p(-r.Float64()) }

// gamma draws from the gamma distribution of the given shape and scale 1, by
// the method of Marsaglia and Tsang (ACM Transactions on Mathematical Software
// 26, 2000): a cubed normal, accepted where it fits under the density. A shape
// below 1 is drawn from the next one up and scaled by a power of a uniform.
func gamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(r, shape+1) * math.Pow(1-r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
