// Package capacity finds the largest rate of requests at which a server keeps an SLO. It
// knows neither clock nor server: a search asks an oracle what happened at a rate, so a
// simulation and a measurement run the same code.
package capacity

import (
	"cmp"
	"math"
	"slices"
)

// Criterion is one limit of an SLO: "p99 ttft ≤ 500 ms".
type Criterion struct {
	// Metric is "ttft", "tpot", "itl" or "e2e", with a Limit in ms, or "errors", without.
	Metric string  `json:"metric"`
	Limit  float64 `json:"limit,omitempty"`
	// Share of the requests must be within the limit: 0.99 for a p99.
	Share float64 `json:"share"`
}

// Probe is what came of one rate.
type Probe struct {
	// Rate is in requests per second.
	Rate float64
	// Requests were measured; Violations are, by criterion, how many of them were not
	// within its limit. A request counts in part if its metric has several values.
	Requests   int
	Violations []float64
	// Late is set if the client was: then nothing is known of the server.
	Late bool
}

// Violated is the share of requests that violated a criterion.
func (p Probe) Violated(i int) float64 {
	if p.Requests == 0 {
		return 1
	}
	return p.Violations[i] / float64(p.Requests)
}

// Chance is how many requests a probe needs for one violation among them to be chance.
const Chance = 20

// Worst is the criterion that a probe missed by most, with the share of requests that kept
// it; keeps is set if it missed none.
func (p Probe) Worst(slo []Criterion) (worst Criterion, kept float64, keeps bool) {
	most := math.Inf(-1)
	keeps = true
	for i, c := range slo {
		over := p.Violated(i) / (1 - c.Share)
		if over > most {
			most, worst, kept = over, c, 1-p.Violated(i)
		}
		keeps = keeps && (over <= 1 || p.Violations[i] <= 1 && p.Requests >= Chance)
	}
	return worst, kept, keeps
}

// Options are how a search goes about it.
type Options struct {
	SLO []Criterion
	// Start is the first rate, Least the lowest at which a probe has requests enough to show
	// anything, Most the highest that may be sent.
	Start, Least, Most float64
	// Probes is how many are usual. A search that starts far away takes more.
	Probes int
}

const (
	// bracketing is how many probes may look for a rate that keeps the SLO and one that
	// does not.
	bracketing = 12
	// near is how far, in log rate, probes lie from the estimate at first; by these factors it
	// grows and shrinks, to nearest at least.
	near, nearest = 0.12, 0.03
	wider, closer = 1.5, 0.7
)

// MostProbes is how many probes a search makes at most.
func MostProbes(usual int) int { return max(bracketing+2+(usual+1)/2, 2*usual) }

// Search probes rates until the crossing is known as well as the number of probes allows.
// What the probes show is for Estimate to say. It returns the oracle's error with the
// probes before it.
//
// First it looks for a rate that keeps the SLO and one that does not; without both there is
// no crossing. Then it goes up from a probe that kept it and down from one that did not, by
// less each time.
func Search(o Options, probe func(rate float64) (Probe, error)) (all []Probe, err error) {
	most := o.Most
	ask := func(rate float64) (kept, late bool, err error) {
		for range 2 { // once late is a hiccup, twice is what this client can send
			p, err := probe(rate)
			if err != nil {
				return false, false, err
			}
			all = append(all, p)
			if !p.Late {
				_, _, kept := p.Worst(o.SLO)
				return kept, false, nil
			}
		}
		most = min(most, rate)
		return false, true, nil
	}
	low, high, failed := false, false, 0 // whether a rate kept it, one did not, and how often the lowest did not
	rate, factor := min(o.Start, most), 1.3
	for len(all) < bracketing && !(low && high) {
		kept, late, err := ask(rate)
		low, high = low || kept, high || !kept && !late
		switch {
		case err != nil:
			return all, err
		case kept && rate >= most, late && low:
			return all, nil // beyond what can be sent
		case !kept && rate <= o.Least:
			if failed++; failed == 2 { // few requests are sent there, and once may be chance
				return all, nil
			}
		case kept:
			rate = min(rate*factor, most)
		default:
			rate = max(rate/factor, o.Least)
		}
		factor = min(factor*factor, 2)
	}
	if !low || !high {
		return all, nil
	}
	step, up, least := near, true, max(o.Probes, len(all)+(o.Probes+1)/2)
	for len(all) < MostProbes(o.Probes) {
		found := Estimate(o.SLO, all)
		if len(all) >= least && found.Near >= found.Need {
			break
		}
		by := math.Exp(step)
		if !up {
			by = 1 / by
		}
		kept, late, err := ask(min(max(found.Rate*by, o.Least), most))
		if err != nil {
			return all, err
		}
		// What was expected makes probes come closer, a surprise lets them go further.
		if kept == up && !late {
			step *= wider
		} else {
			step = max(step*closer, nearest)
		}
		up = kept
	}
	return all, nil
}

// Result is what the probes of a launch show.
type Result struct {
	// Rate is the capacity in requests per second; 0 if no rate kept the SLO.
	Rate float64 `json:"rate"`
	// AtLeast is set if no rate violated it: the capacity is Rate or more.
	AtLeast bool `json:"at_least,omitempty"`
	// Limiting is the criterion that is violated first, or that the lowest rate violated
	// most, and Kept the share of requests that kept it there.
	Limiting Criterion `json:"limiting"`
	Kept     float64   `json:"kept"`
	// Lowest is the lowest rate that was probed.
	Lowest float64 `json:"lowest"`
	// Near is how many requests were sent at rates near the capacity, of Need that its
	// percentile takes.
	Near int `json:"near"`
	Need int `json:"need"`
}

// need is how many violations should be allowed among the requests near the capacity.
const need = 3

// Known reports whether the capacity is: some rate kept the SLO, another did not, and there
// were enough requests between them.
func (r Result) Known() bool { return r.Rate > 0 && !r.AtLeast && r.Near >= r.Need }

// Estimate finds where the SLO is crossed, from all probes: for each criterion by a logistic
// regression of violations on the logarithm of the rate, in which probes near the crossing
// weigh most; the lowest of these is the capacity.
func Estimate(slo []Criterion, all []Probe) (r Result) {
	counted := slices.DeleteFunc(slices.Clone(all), func(p Probe) bool { return p.Late || p.Requests == 0 })
	if len(counted) == 0 {
		return r
	}
	slices.SortStableFunc(counted, func(a, b Probe) int { return cmp.Compare(a.Rate, b.Rate) })
	r.Lowest = counted[0].Rate
	low, high := 0.0, math.Inf(1)
	for _, p := range counted {
		if _, _, kept := p.Worst(slo); kept {
			low = max(low, p.Rate)
		} else {
			high = min(high, p.Rate)
		}
	}
	switch {
	case low == 0:
		r.Limiting, r.Kept, _ = counted[0].Worst(slo)
		return r
	case math.IsInf(high, 1):
		r.Rate, r.AtLeast = low, true
		r.Limiting, r.Kept, _ = counted[len(counted)-1].Worst(slo)
		return r
	}
	first := math.Inf(1)
	for i, c := range slo {
		if at, ok := crossing(counted, i, c); ok && at < first {
			first, r.Limiting, r.Kept = at, c, c.Share
		}
	}
	r.Rate = math.Exp(first)
	r.Need = int(math.Round(need / (1 - r.Limiting.Share)))
	for _, p := range counted {
		if math.Abs(math.Log(p.Rate)-first) <= width {
			r.Near += p.Requests
		}
	}
	return r
}

const (
	// width is how near to the crossing, in log rate, probes weigh.
	width = 0.25
	// slope is the usual increase of the log odds of a violation with log rate, and spread
	// how much its logarithm varies between servers.
	slope, spread = 12, 0.7
	// clump is how many violations come together: requests of one burst wait together.
	clump = 3
)

// crossing is the log rate at which the share of requests within a criterion is its own; ok is
// false if no probe violated it.
func crossing(all []Probe, i int, c Criterion) (at float64, ok bool) {
	low, high := math.Inf(-1), math.Inf(1)
	for _, p := range all {
		if x := math.Log(p.Rate); p.Violated(i) > 1-c.Share {
			high = min(high, x)
		} else {
			low = max(low, x)
		}
	}
	switch {
	case math.IsInf(high, 1):
		return 0, false
	case math.IsInf(low, -1):
		low = high
	}
	at = (low + high) / 2
	logit := math.Log((1 - c.Share) / c.Share)
	for range 3 {
		centre := at
		cost := func(x, b float64) float64 {
			sum := sq((x-centre)/width)/8 + sq(math.Log(b/slope)/spread)/2
			for _, p := range all {
				d := (math.Log(p.Rate) - centre) / width
				weight := math.Exp(-d*d/2) / clump
				odds := logit + float64(b*(math.Log(p.Rate)-x))
				v := p.Violations[i]
				// −log of p and of 1−p, without overflow
				sum += float64(weight * (float64(v*softplus(-odds)) + float64((float64(p.Requests)-v)*softplus(odds))))
			}
			return sum
		}
		at = lowest(cost, centre)
	}
	return at, true
}

// lowest is the x at which cost(x, b) is least over both, by grids that get finer.
func lowest(cost func(x, b float64) float64, centre float64) float64 {
	x, b := centre, math.Log(float64(slope))
	for stepX, stepB := 0.1, 0.5; stepX > 0.0005; stepX, stepB = stepX/2.5, stepB/2.5 {
		best, atX, atB := math.Inf(1), x, b
		for i := -3; i <= 3; i++ {
			for j := -2; j <= 2; j++ {
				tx, tb := x+float64(float64(i)*stepX), b+float64(float64(j)*stepB)
				if y := cost(tx, math.Exp(tb)); y < best {
					best, atX, atB = y, tx, tb
				}
			}
		}
		x, b = atX, atB
	}
	return x
}

func sq(x float64) float64 { return x * x }

// softplus is log(1 + e^x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
