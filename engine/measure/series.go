package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/sorted"
)

// Series is one quantity sampled over the time of a launch.
type Series struct {
	// Name is one of the constants below.
	Name string `parquet:"name,dict"`
	// Source distinguishes several of one name: a GPU's UUID, a position in the draft,
	// empty if there is one.
	Source string `parquet:"source,dict"`
	Unit   string `parquet:"unit,dict"`
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
	// memory, GB.
	HostCPU    = "host.cpu_share"
	HostMemory = "host.memory_gb"
	// EngineCPU counts up the engine's processor seconds, EngineMemory is its host
	// memory. s, GB.
	EngineCPU    = "engine.cpu_s"
	EngineMemory = "engine.memory_gb"
	// ClientDelay is how much later than requested the client's clock woke it, ms:
	// saturation of the measuring client as seen from inside.
	ClientDelay = "client.delay_ms"
)

// maxGap is how far apart readings may be for the time between them to count as watched.
// Telemetry reads ten times a second, and an engine's page four times.
const maxGap = 2 * time.Second

// within are the values read inside of windows, in ascending order.
func (s Series) within(windows []Window) []float64 {
	var out []float64
	for i, at := range s.At {
		if slices.ContainsFunc(windows, func(w Window) bool { return w.holds(at) }) {
			out = append(out, s.Value[i])
		}
	}
	slices.Sort(out)
	return out
}

// peak is the highest value read inside of windows.
func (s Series) peak(windows []Window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)-1], true
}

// average is the mean of the values read inside of windows.
func (s Series) average(windows []Window) (float64, bool) {
	values := s.within(windows)
	if len(values) == 0 {
		return 0, false
	}
	return meanOf(values), true
}

// median is the median of the values read inside of windows.
func (s Series) median(windows []Window) (float64, bool) {
	values := s.within(windows)
	return Quantile(values, 0.5), len(values) > 0
}

// edges are the last reading at or before a window and the first at or after it.
func (s Series) edges(w Window) (first, last int, ok bool) {
	i, exact := slices.BinarySearch(s.At, w.From)
	for exact && i+1 < len(s.At) && s.At[i+1] == w.From {
		i++
	}
	if !exact {
		i--
	}
	j, _ := slices.BinarySearch(s.At, w.To)
	if i < 0 || j >= len(s.At) || w.From-s.At[i] > maxGap || s.At[j]-w.To > maxGap {
		return 0, 0, false
	}
	return i, j, w.exists()
}

// covers is edges if the series was read all the time in between.
func (s Series) covers(w Window) (first, last int, ok bool) {
	first, last, ok = s.edges(w)
	for i := first; ok && i < last; i++ {
		ok = s.At[i+1]-s.At[i] <= maxGap
	}
	return first, last, ok
}

// difference is how much a counter grew over a window, between the readings at its edges.
// It is unknown without such readings, and if the counter fell: then the engine restarted
// counting.
func (s Series) difference(w Window) (float64, bool) {
	i, j, ok := s.edges(w)
	if !ok || !slices.IsSorted(s.Value[i:j+1]) {
		return 0, false
	}
	return s.Value[j] - s.Value[i], true
}

// integral is the area below the readings over windows by the trapezoidal rule, in units
// of the value times seconds; all windows must have been watched.
func (s Series) integral(windows []Window) (float64, bool) {
	total := 0.0
	for _, w := range windows {
		i, j, ok := s.covers(w)
		if !ok {
			return 0, false
		}
		sum := 0.0
		for k := i; k < j; k++ {
			from, to := max(s.At[k], w.From), min(s.At[k+1], w.To)
			if to > from {
				sum += float64((s.value(from, k+1) + s.value(to, k+1)) / 2 * (to - from).Seconds())
			}
		}
		total += sum
	}
	return total, len(windows) > 0
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

// lasted is how long readings for which bad holds lasted within a window: each until the
// next, the last to the end.
func (s Series) lasted(w Window, bad func(i int) bool) time.Duration {
	var sum time.Duration
	for i, at := range s.At {
		until := w.To
		if i+1 < len(s.At) {
			until = min(until, s.At[i+1])
		}
		if from := max(at, w.From); until > from && bad(i) {
			sum += until - from
		}
	}
	return sum
}

// share is the part of all windows during which readings for which bad holds lasted.
func (s Series) share(windows []Window, bad func(Series, int) bool) (float64, bool) {
	var sum, length time.Duration
	for _, w := range windows {
		if _, _, ok := s.covers(w); !ok {
			return 0, false
		}
		sum += s.lasted(w, func(i int) bool { return bad(s, i) })
		length += w.To - w.From
	}
	return float64(sum) / float64(length), length > 0
}

// during is a series without the readings outside of stretches, as union has
// them.
func (s Series) during(stretches []Window) Series {
	inside := Series{Name: s.Name, Source: s.Source}
	for i, at := range s.At {
		j, _ := slices.BinarySearchFunc(stretches, at, func(w Window, at time.Duration) int {
			return cmp.Compare(w.To, at)
		})
		if j < len(stretches) && stretches[j].holds(at) {
			inside.At, inside.Value = append(inside.At, at), append(inside.Value, s.Value[i])
		}
	}
	return inside
}

type seriesSet struct {
	// by name, in the order of their sources.
	by map[string][]Series
	// gpus is how many GPUs have any reading.
	gpus int
}

// gpuSeries is the prefix of series that exist per GPU, engineSeries of those from the
// engine's own metrics.
const (
	gpuSeries    = "gpu."
	engineSeries = "engine."
)

// newSeriesSet leaves out every name with a damaged or duplicate series: a sum over the
// others would be too small. A series without readings does not count.
func newSeriesSet(all []Series) seriesSet {
	set, damaged, gpus := seriesSet{by: map[string][]Series{}}, map[string]bool{}, map[string]bool{}
	for _, s := range all {
		if len(s.At) == 0 && len(s.Value) == 0 {
			continue
		}
		sound := len(s.At) > 0 && len(s.At) == len(s.Value) && s.At[0] >= 0 && slices.IsSorted(s.At) &&
			!slices.ContainsFunc(s.Value, notFinite)
		twice := slices.ContainsFunc(set.by[s.Name], func(o Series) bool { return o.Source == s.Source })
		damaged[s.Name] = damaged[s.Name] || !sound || twice
		set.by[s.Name] = append(set.by[s.Name], s)
		if strings.HasPrefix(s.Name, gpuSeries) {
			gpus[s.Source] = true
		}
	}
	set.gpus = len(gpus)
	for name, series := range sorted.All(set.by) {
		slices.SortFunc(series, func(a, b Series) int { return cmp.Compare(a.Source, b.Source) })
		if damaged[name] {
			delete(set.by, name)
		}
	}
	return set
}

// each is one number of every series of a name. All must be known, and for a GPU's those
// of every GPU.
func (set seriesSet) each(name string, of func(Series) (float64, bool)) (out []float64, known bool) {
	series := set.by[name]
	if strings.HasPrefix(name, gpuSeries) && len(series) != set.gpus {
		return nil, false
	}
	for _, s := range series {
		x, ok := of(s)
		if !ok {
			return nil, false
		}
		out = append(out, x)
	}
	return out, len(out) > 0
}

// sum adds up each.
func (set seriesSet) sum(name string, of func(Series) (float64, bool)) (total float64, known bool) {
	values, known := set.each(name, of)
	for _, x := range values {
		total += x
	}
	return total, known
}

// ranks are labels of processes that work on the same requests together: each reports the
// same of all of them (SGLang's gauges), so their lines are not parts of a sum.
var ranks = []string{"tp_rank", "pp_rank", "ep_rank", "moe_ep_rank"}

// engines adds up a metric of the engines behind one address, each counted by its highest
// rank.
func (set seriesSet) engines(name string, of func(Series) (float64, bool)) (total float64, known bool) {
	return sumEngines(set.by[engineSeries+name], of)
}

// at are the series of one position in the draft, from 0. If a page has one line, which
// needs no label to be told from others, that is the first position.
func (set seriesSet) at(name string, position int) (series []Series) {
	all := set.by[engineSeries+name]
	if len(all) == 1 && all[0].Source == "" && position == 0 {
		return all
	}
	own := fmt.Sprintf("position=%q", strconv.Itoa(position))
	for _, s := range all {
		labels := strings.Split(s.Source, ",")
		if i := slices.IndexFunc(labels, func(l string) bool { return strings.TrimSpace(l) == own }); i >= 0 {
			s.Source = strings.Join(slices.Delete(labels, i, i+1), ",")
			series = append(series, s)
		}
	}
	return series
}

// sumEngines is engines over some series.
func sumEngines(series []Series, of func(Series) (float64, bool)) (total float64, known bool) {
	most, order := map[string]float64{}, []string{}
	for _, s := range series {
		x, ok := of(s)
		if !ok {
			return 0, false
		}
		labels := slices.DeleteFunc(strings.Split(s.Source, ","), func(label string) bool {
			name, _, _ := strings.Cut(label, "=")
			return slices.Contains(ranks, strings.TrimSpace(name))
		})
		engine := strings.Join(labels, ",")
		if seen, there := most[engine]; !there {
			order = append(order, engine)
			most[engine] = x
		} else {
			most[engine] = max(seen, x)
		}
	}
	for _, engine := range order {
		total += most[engine]
	}
	return total, len(order) > 0
}

// powered adds up one number of each GPU's power, all of which must be known.
// Instantaneous power is preferred: the other is the driver's average over the last
// second, which smears what preceded a window into it.
func (set seriesSet) powered(of func(Series) (float64, bool)) (total float64, known bool) {
	values := map[string]float64{}
	var gpus []string
	for _, s := range slices.Concat(set.by[GPUPowerInstant], set.by[GPUPower]) {
		gpus = append(gpus, s.Source)
		if _, done := values[s.Source]; done {
			continue
		}
		if x, ok := of(s); ok {
			values[s.Source] = x
		}
	}
	slices.Sort(gpus)
	for _, gpu := range slices.Compact(gpus) {
		total += values[gpu]
	}
	return total, len(values) > 0 && len(values) == set.gpus
}

// memoryInUse is the peak of the memory that the GPUs work in: their own, added up, and
// the host's once if GPUs share it.
func (set seriesSet) memoryInUse(windows []Window) (total float64, known bool) {
	host, gpus := 0.0, map[string]bool{}
	for _, s := range slices.Concat(set.by[GPUMemory], set.by[GPUHostMemory]) {
		x, ok := s.peak(windows)
		if !ok || gpus[s.Source] {
			return 0, false
		}
		if gpus[s.Source] = true; s.Name == GPUHostMemory {
			host = max(host, x)
		} else {
			total += x
		}
	}
	return total + host, len(gpus) > 0 && len(gpus) == set.gpus
}

// idleBefore is how long before the first request the idle engine is watched.
const idleBefore = 5 * time.Second

// idle is the power of all GPUs while an engine waited for its first request: the lowest
// mean over a second, since probes for preparing the requests may fall into that time
// too.
func (set seriesSet) idle(first time.Duration) (float64, bool) {
	return set.powered(func(s Series) (lowest float64, known bool) {
		for _, from := range append(slices.Clone(s.At), first-time.Second) {
			if from < first-idleBefore || from+time.Second > first {
				continue
			}
			if x, ok := s.integral([]Window{{from, from + time.Second}}); ok && (!known || x < lowest) {
				lowest, known = x, true
			}
		}
		return lowest, known
	})
}
