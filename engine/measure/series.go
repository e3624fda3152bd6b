package measure

import (
	"cmp"
	"slices"
	"time"
)

// Series is one quantity sampled over the time of a launch.
type Series struct {
	// Name is one of the constants below.
	Name string `parquet:"name,dict"`
	// Source distinguishes several of one name: a GPU's UUID, a position in the draft,
	// empty if there is one.
	Source string `parquet:"source,dict"`
	// Unit of the values.
	Unit string `parquet:"unit,dict"`
	// At is the monotonic time since the recording's zero, ascending.
	At []time.Duration `parquet:"at_ns,list"`
	// Value has one element per element of At. None is NaN or infinite: an unreadable
	// value has no element.
	Value []float64 `parquet:"value,list"`
}

// Names of series. The engine's are "engine." and mxflow's name of a metric in
// kinds.Metrics.Names: engine.running, engine.spec_accepted_tokens.
const (
	// GPUPower is averaged by the driver, GPUPowerInstant is not; energy is integrated
	// from the second if available. W.
	GPUPower        = "gpu.power_w"
	GPUPowerInstant = "gpu.power_instant_w"
	// GPUMemory is the used memory of the device, GPUProcessMemory the engine's
	// processes' part of it. GB of 1e9 bytes.
	GPUMemory        = "gpu.memory_gb"
	GPUProcessMemory = "gpu.process_memory_gb"
	// GPUHostMemory is the used host memory, for a GPU without its own. GB.
	GPUHostMemory  = "gpu.host_memory_gb"
	GPUClock       = "gpu.clock_mhz"
	GPUMemoryClock = "gpu.memory_clock_mhz"
	GPUTemperature = "gpu.temperature_c"
	// GPUUtilization is the share of time with a kernel running, 0 to 1.
	GPUUtilization = "gpu.utilization"
	// GPUThrottle is the driver's bit mask of reasons for reduced clocks.
	GPUThrottle = "gpu.throttle"
	// GPUForeign is the number of processes on the GPU that are not the engine's.
	GPUForeign = "gpu.foreign"
	// HostCPU is the share of all cores in use, 0 to 1. HostMemory is the host's used
	// memory, GB. HostEnergy counts up in J (RAPL packages).
	HostCPU    = "host.cpu_share"
	HostMemory = "host.memory_gb"
	HostEnergy = "host.energy_j"
	// EngineCPU counts up the engine's processor seconds, EngineMemory is its host
	// memory, ContainerMemory its control group's memory. s, GB, GB.
	EngineCPU       = "engine.cpu_s"
	EngineMemory    = "engine.memory_gb"
	ContainerMemory = "container.memory_gb"
	// ClientDelay is how much later than requested the client's clock woke it, ms:
	// saturation of the measuring client as seen from inside.
	ClientDelay = "client.delay_ms"
)

// within are the values read inside of windows, in order of time.
func (s Series) within(windows []window) []float64 {
	var out []float64
	for i, at := range s.At {
		if slices.ContainsFunc(windows, func(w window) bool { return w.holds(at) }) {
			out = append(out, s.Value[i])
		}
	}
	return out
}

// peak is the highest value read inside of windows.
func (s Series) peak(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	return slices.Max(values), true
}

// average is the mean of the values read inside of windows.
func (s Series) average(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return meanOf(values), true
}

// spoken is average without zeros, for gauges in which zero means no value.
func (s Series) spoken(windows []window) (float64, bool) {
	values := slices.DeleteFunc(s.within(windows), func(x float64) bool { return x <= 0 })
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return meanOf(values), true
}

// middle is the median of the values read inside of windows.
func (s Series) middle(windows []window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return Quantile(values, 0.5), true
}

// edges are the last reading at or before a window and the first at or after it.
func (s Series) edges(w window) (first, last int, ok bool) {
	i, exact := slices.BinarySearch(s.At, w.from)
	for exact && i+1 < len(s.At) && s.At[i+1] == w.from {
		i++
	}
	if !exact {
		i--
	}
	j, _ := slices.BinarySearch(s.At, w.to)
	if i < 0 || j >= len(s.At) || w.from-s.At[i] > maxGap || s.At[j]-w.to > maxGap {
		return 0, 0, false
	}
	return i, j, w.exists()
}

// covers is edges if the series was read all the time in between.
func (s Series) covers(w window) (first, last int, ok bool) {
	first, last, ok = s.edges(w)
	for i := first; ok && i < last; i++ {
		ok = s.At[i+1]-s.At[i] <= maxGap
	}
	return first, last, ok
}

// difference is how much a counter grew over a window, between the readings at its edges.
// It is unknown without such readings, and if the counter fell: then the engine restarted
// counting.
func (s Series) difference(w window) (float64, bool) {
	i, j, ok := s.edges(w)
	if !ok || !slices.IsSorted(s.Value[i:j+1]) {
		return 0, false
	}
	return s.Value[j] - s.Value[i], true
}

// growth is difference with the counter interpolated at the edges, for counters that are
// read all the time and grow steadily, such as energy.
func (s Series) growth(w window) (float64, bool) {
	i, j, ok := s.covers(w)
	if !ok || !slices.IsSorted(s.Value[i:j+1]) {
		return 0, false
	}
	return s.value(w.to, j) - s.value(w.from, i+1), true
}

// integral is the area below the readings over a window by the trapezoidal
// rule, in units of the value times seconds.
func (s Series) integral(w window) (float64, bool) {
	i, j, ok := s.covers(w)
	if !ok {
		return 0, false
	}
	sum := 0.0
	for k := i; k < j; k++ {
		from, to := max(s.At[k], w.from), min(s.At[k+1], w.to)
		if to > from {
			sum += float64((s.value(from, k+1) + s.value(to, k+1)) / 2 * (to - from).Seconds())
		}
	}
	return sum, true
}

// value interpolates between a reading and the one before it.
func (s Series) value(at time.Duration, next int) float64 {
	if at >= s.At[next] {
		return s.Value[next]
	}
	a, b := s.At[next-1], s.At[next]
	if at <= a {
		return s.Value[next-1]
	}
	part := float64(at-a) / float64(b-a)
	// The product is rounded so it is not fused with the sum.
	return s.Value[next-1] + float64((s.Value[next]-s.Value[next-1])*part)
}

// standing is how long readings for which bad holds lasted within a window: each until
// the next, the last to the end.
func (s Series) standing(w window, bad func(i int) bool) time.Duration {
	var sum time.Duration
	for i, at := range s.At {
		until := w.to
		if i+1 < len(s.At) {
			until = min(until, s.At[i+1])
		}
		if from := max(at, w.from); until > from && bad(i) {
			sum += until - from
		}
	}
	return sum
}

// over adds up windows, all of which must be known.
func (s Series) over(windows []window, of func(Series, window) (float64, bool)) (total float64, known bool) {
	for _, w := range windows {
		x, ok := of(s, w)
		if !ok {
			return 0, false
		}
		total += x
	}
	return total, len(windows) > 0
}

// share is the part of all windows during which readings for which bad holds lasted.
func (s Series) share(windows []window, bad func(Series, int) bool) (float64, bool) {
	var sum, length time.Duration
	for _, w := range windows {
		if _, _, ok := s.covers(w); !ok {
			return 0, false
		}
		sum += s.standing(w, func(i int) bool { return bad(s, i) })
		length += w.to - w.from
	}
	return float64(sum) / float64(length), length > 0
}

// during is a series without the readings outside of stretches, as union has
// them.
func (s Series) during(stretches []window) Series {
	kept := Series{Name: s.Name, Source: s.Source}
	for i, at := range s.At {
		j, _ := slices.BinarySearchFunc(stretches, at, func(w window, at time.Duration) int { return cmp.Compare(w.to, at) })
		if j < len(stretches) && stretches[j].holds(at) {
			kept.At, kept.Value = append(kept.At, at), append(kept.Value, s.Value[i])
		}
	}
	return kept
}

// sound reports whether a series fulfils its type's invariants.
func (s Series) sound() bool {
	return len(s.At) > 0 && len(s.At) == len(s.Value) && s.At[0] >= 0 && slices.IsSorted(s.At) && !slices.ContainsFunc(s.Value, notFinite)
}
