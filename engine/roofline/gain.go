package roofline

// Gain is how much faster a step becomes if kernels take less time, by Amdahl's law. A
// change of 0.1 is 10% more steps per second.
type Gain struct {
	// Saved is how many µs less the kernels take.
	Saved float64 `json:"saved_us"`
	// Most is the gain if everything possible is saved: the step is as short as it can be
	// without the profiler, and nothing else changes. Open is set if nothing bounds the
	// gain: nothing of the step would be left, as with overlapping streams.
	Most float64 `json:"most"`
	Open bool    `json:"open,omitempty"`
	// Least is the gain if other streams hide as much of it as they overlap, the step is
	// as long as it was with the profiler, and it gets no shorter than the busiest host
	// thread needs.
	Least float64 `json:"least"`
}

// Claim is the factor by which the time of categories is divided: 1.5 is 1.5 times as
// fast. None is below 1.
type Claim map[string]float64

// gainOf is a step's gain if its kernels take that much less time.
func gainOf(r *Roofline, saved float64) Gain {
	g := Gain{Saved: saved}
	if left := r.Step.Low - saved; left > 0 {
		g.Most = saved / left
	} else {
		g.Open = true
	}
	if r.Bound.By == Host {
		return g // the GPU waits for as long as it saves
	}
	after := max(r.Step.High-max(0, saved-max(0, r.GPU-r.Busy)), min(r.host, r.Step.High))
	if after > 0 {
		g.Least = r.Step.High/after - 1
	}
	return g
}
