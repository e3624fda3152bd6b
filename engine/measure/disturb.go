package measure

import (
	"fmt"
	"math"
	"slices"
)

// The driver's reasons for reduced clocks, as bits of GPUThrottle (NVML's
// nvmlClocksEventReason*; engine/machine has the same in words for people).
//
// Normal are: idle (1), clocks that were set (2), the power limit (4), a sync boost group
// (16), the clocks of a display (256). The power limit is how a GPU at full load keeps to
// its configuration, on both sides of a comparison, so it is reported
// (power_capped_share) and invalidates nothing. Everything else slows a GPU down because
// of a problem with it or around it, and an unknown reason is not known to be harmless.
const (
	powerCap     = 4
	hardwareSlow = 8
	softwareHeat = 32
	hardwareHeat = 64
	powerBrake   = 128
	normal       = 1 | 2 | powerCap | 16 | 256
)

var slowing = []struct {
	bit  uint64
	name string
}{
	{softwareHeat, "sw_thermal_slowdown"},
	{hardwareHeat, "hw_thermal_slowdown"},
	{powerBrake, "hw_power_brake_slowdown"},
	{hardwareSlow, "hw_slowdown"},
}

// reasonsAt is one reading of a series of reasons. A value that is not a bit mask is
// every reason at once.
func reasonsAt(s Series, i int) uint64 {
	if v := s.Value[i]; v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return uint64(v)
	}
	return math.MaxUint64
}

// throttled reports whether a reading shows that the GPU was slowed down. A hardware
// slowdown without its cause counts if two consecutive readings have it: drivers report
// one for a moment at a change of power state.
func throttled(s Series, i int) bool {
	bad := reasonsAt(s, i) &^ normal
	if bad != hardwareSlow {
		return bad != 0
	}
	before := i > 0 && reasonsAt(s, i-1)&hardwareSlow != 0
	after := i+1 < len(s.Value) && reasonsAt(s, i+1)&hardwareSlow != 0
	return before || after
}

func powerCapped(s Series, i int) bool { return reasonsAt(s, i)&powerCap != 0 }

// Disturbance is a reason for a launch's measurement not to count: the machine was not in
// order while requests of a cell were measured.
type Disturbance struct {
	Code DisturbanceCode
	// Cell ("command" if nothing was sent) and GPU are where, Series is the damaged one.
	Cell, GPU, Series string
	Share             float64
	// Slowed are the causes of a GPU's slowdown: names of bits, or unknown bits.
	Slowed []string
	// Most is the maximum number of foreign processes at once.
	Most int
	// Low and High are a clock's tenth and ninetieth percentile, MHz.
	Low, High float64
}

type DisturbanceCode string

const (
	// Damaged: the readings needed are damaged or duplicated.
	Damaged DisturbanceCode = "damaged"
	// Slowed: a GPU was slowed down; Shared: others were on it; Wandered: its clock was
	// not constant.
	Slowed   DisturbanceCode = "slowed"
	Shared   DisturbanceCode = "shared"
	Wandered DisturbanceCode = "wandered"
)

// Disturbances lists the disturbances of a launch, as far as they were watched.
func Disturbances(r Recording) []Disturbance {
	var out []Disturbance
	all := newSeriesSet(r.Series)
	for _, name := range []string{GPUThrottle, GPUForeign} {
		if all.by[name] == nil && slices.ContainsFunc(r.Series, func(s Series) bool { return s.Name == name }) {
			out = append(out, Disturbance{Code: Damaged, Series: name})
		}
	}
	for _, w := range r.measured() {
		if !w.exists() {
			continue
		}
		add := func(d Disturbance) {
			d.Cell = w.cell
			// A command may have many windows: the worst is representative.
			i := slices.IndexFunc(out, func(o Disturbance) bool {
				return o.Code == d.Code && o.Cell == d.Cell && o.GPU == d.GPU
			})
			if i < 0 {
				out = append(out, d)
			} else if d.Share > out[i].Share {
				out[i] = d
			}
		}
		for _, s := range all.by[GPUThrottle] {
			var names []string
			took := s.lasted(w.Window, func(i int) bool {
				if !throttled(s, i) {
					return false
				}
				rest := reasonsAt(s, i) &^ normal
				for _, r := range slowing {
					if rest&r.bit != 0 {
						names = append(names, r.name)
					}
					rest &^= r.bit
				}
				if rest != 0 {
					names = append(names, fmt.Sprintf("0x%x", rest))
				}
				return true
			})
			if slices.Sort(names); took > 0 {
				add(Disturbance{
					Code: Slowed, GPU: s.Source, Share: took.Seconds() / w.seconds(),
					Slowed: slices.Compact(names),
				})
			}
			if w.cell == commandCell {
				continue // its phases, including loading, change the clock
			}
			for _, clock := range all.by[GPUClock] {
				low, high, wanders := wandered(w.Window, clock, s)
				if clock.Source == s.Source && wanders {
					add(Disturbance{Code: Wandered, GPU: s.Source, Low: low, High: high})
				}
			}
		}
		for _, s := range all.by[GPUForeign] {
			most := 0.0
			took := s.lasted(w.Window, func(i int) bool {
				most = max(most, s.Value[i])
				return s.Value[i] > 0
			})
			if took > 0 {
				add(Disturbance{Code: Shared, GPU: s.Source, Share: took.Seconds() / w.seconds(), Most: int(most)})
			}
		}
	}
	return out
}

const (
	// mostWander is how far a clock may move about its median, from the tenth to the
	// ninetieth percentile of its means over a second: single readings jump, and a clock
	// that rises in the first second does not wander.
	mostWander = 0.05
	// wanderSeconds is how many such means are needed.
	wanderSeconds = 10
)

// wandered looks for clock changes of a GPU without a reason from its driver, and returns
// the clock's tenth and ninetieth percentile. Seconds
// with a reading at the power limit are left out, since the clock follows the load there,
// which is not a disturbance; so are those of an idle GPU, which clocks down, and those
// already reported as slowed. Without the driver's reasons these seconds are unknown, and
// nothing is reported.
func wandered(w Window, clock, reasons Series) (low, high float64, wanders bool) {
	const steady = normal &^ (1 | powerCap)
	sums, counts, left := map[int]float64{}, map[int]float64{}, map[int]bool{}
	at := -1
	for i, t := range clock.At {
		for at+1 < len(reasons.At) && reasons.At[at+1] <= t {
			at++
		}
		if !w.holds(t) {
			continue
		}
		second := int((t - w.From).Seconds())
		left[second] = left[second] || at < 0 || t-reasons.At[at] > maxGap || reasonsAt(reasons, at)&^steady != 0
		sums[second] += clock.Value[i]
		counts[second]++
	}
	var means []float64
	for second, sum := range sums {
		if !left[second] {
			means = append(means, sum/counts[second])
		}
	}
	if len(means) < wanderSeconds {
		return 0, 0, false
	}
	slices.Sort(means)
	low, high = Quantile(means, 0.1), Quantile(means, 0.9)
	return low, high, high-low > mostWander*Quantile(means, 0.5)
}
