package measure

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seriesSet are the series of a recording.
type seriesSet struct {
	// by name, in the order of their sources.
	by map[string][]Series
	// gpus is how many GPUs have any reading.
	gpus int
}

// newWatched leaves out every name with a damaged or duplicate series: a sum over the
// others would be too small. A series without readings does not count.
func newWatched(all []Series) seriesSet {
	w, bad, gpus := seriesSet{by: map[string][]Series{}}, map[string]bool{}, map[string]bool{}
	for _, s := range all {
		if len(s.At) == 0 && len(s.Value) == 0 {
			continue
		}
		bad[s.Name] = bad[s.Name] || !s.sound()
		w.by[s.Name] = append(w.by[s.Name], s)
		if strings.HasPrefix(s.Name, gpuSeries) {
			gpus[s.Source] = true
		}
	}
	w.gpus = len(gpus)
	for name, series := range w.by {
		slices.SortFunc(series, func(a, b Series) int { return cmp.Compare(a.Source, b.Source) })
		for i := range series {
			bad[name] = bad[name] || (i > 0 && series[i].Source == series[i-1].Source)
		}
		if bad[name] {
			delete(w.by, name)
		}
	}
	return w
}

// gpuSeries is the prefix of series that exist per GPU.
const gpuSeries = "gpu."

// whole are the series of a name, and none if it is known for some GPUs only.
func (w seriesSet) whole(name string) []Series {
	if strings.HasPrefix(name, gpuSeries) && len(w.by[name]) != w.gpus {
		return nil
	}
	return w.by[name]
}

// sum adds one number of each series of that name, all of which must be known.
func (w seriesSet) sum(name string, of func(Series) (float64, bool)) (float64, bool) {
	return addUp(w.whole(name), of)
}

func addUp(series []Series, of func(Series) (float64, bool)) (total float64, known bool) {
	for _, s := range series {
		x, ok := of(s)
		if !ok {
			return 0, false
		}
		total += x
	}
	return total, len(series) > 0
}

// ranks are labels of processes that work on the same requests together: each reports the
// same of all of them (SGLang's gauges), so their lines are not parts of a sum.
var ranks = []string{"tp_rank", "pp_rank", "ep_rank", "moe_ep_rank"}

// engines adds up the engines behind one address, each counted by its highest rank.
func engines(series []Series, of func(Series) (float64, bool)) (total float64, known bool) {
	most, order := map[string]float64{}, []string{}
	for _, s := range series {
		x, ok := of(s)
		if !ok {
			return 0, false
		}
		engine := without(s.Source, ranks)
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

// without removes labels from a source such as `engine=0,tp_rank=1`.
func without(source string, labels []string) string {
	var rest []string
	for _, part := range strings.Split(source, ",") {
		name, _, _ := strings.Cut(part, "=")
		if !slices.Contains(labels, strings.TrimSpace(name)) {
			rest = append(rest, part)
		}
	}
	return strings.Join(rest, ",")
}

// at picks the series of one position of the draft: "2", or `position="2"` among
// other labels. A draft of one token has a series without a source.
func (w seriesSet) at(name string, position int) []Series {
	if all := w.by[name]; len(all) == 1 && all[0].Source == "" && position == 0 {
		return all
	}
	var out []Series
	for _, s := range w.by[name] {
		for _, part := range strings.Split(s.Source, ",") {
			label, value, found := strings.Cut(part, "=")
			if !found {
				value = part
			} else if strings.TrimSpace(label) != "position" {
				continue
			}
			if strings.Trim(strings.TrimSpace(value), `"`) == strconv.Itoa(position) {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// energy is the energy of all GPUs over windows, J.
func (w seriesSet) energy(windows []window) (float64, bool) {
	return w.powered(func(s Series) (float64, bool) { return s.over(windows, Series.integral) })
}

// powered adds up one number of each GPU's power, all of which must be known.
// Instantaneous power is preferred: the other is the driver's average over the last
// second, which smears what preceded a window into it.
func (w seriesSet) powered(of func(Series) (float64, bool)) (total float64, known bool) {
	instant, averaged := bySource(w.by[GPUPowerInstant]), bySource(w.by[GPUPower])
	var gpus []string
	for _, s := range slices.Concat(w.by[GPUPowerInstant], w.by[GPUPower]) {
		gpus = append(gpus, s.Source)
	}
	slices.Sort(gpus)
	if gpus = slices.Compact(gpus); len(gpus) != w.gpus {
		return 0, false
	}
	for _, gpu := range gpus {
		x, ok := 0.0, false
		if s, there := instant[gpu]; there {
			x, ok = of(s)
		}
		if s, there := averaged[gpu]; there && !ok {
			x, ok = of(s)
		}
		if !ok {
			return 0, false
		}
		total += x
	}
	return total, len(gpus) > 0
}

// memoryInUse is the peak of the memory that the GPUs work in: their own, added up, and
// the host's once if GPUs share it.
func (w seriesSet) memoryInUse(windows []window) (total float64, known bool) {
	host, gpus := 0.0, map[string]bool{}
	for _, s := range slices.Concat(w.by[GPUMemory], w.by[GPUHostMemory]) {
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
	return total + host, len(gpus) > 0 && len(gpus) == w.gpus
}

func bySource(series []Series) map[string]Series {
	out := map[string]Series{}
	for _, s := range series {
		out[s.Source] = s
	}
	return out
}

// idleBefore is how long before the first request the idle engine is watched.
const idleBefore = 5 * time.Second

// idle is the power of all GPUs while an engine waited for its first request: the lowest
// mean over a second, since probes for preparing the requests may fall into that time
// too.
func (w seriesSet) idle(first time.Duration) (float64, bool) {
	return w.powered(func(s Series) (lowest float64, known bool) {
		try := func(from time.Duration) {
			x, ok := s.integral(window{from, from + second})
			if ok && (!known || x < lowest) {
				lowest, known = x, true
			}
		}
		for _, at := range s.At {
			if at >= first-idleBefore && at+second <= first {
				try(at)
			}
		}
		try(first - second)
		return lowest, known
	})
}

// each is one number of every series of a name, all of which must be known.
func (w seriesSet) each(name string, of func(Series) (float64, bool)) (out []float64, known bool) {
	for _, s := range w.whole(name) {
		x, ok := of(s)
		if !ok {
			return nil, false
		}
		out = append(out, x)
	}
	return out, len(out) > 0
}
