package measure

import (
	"slices"
	"time"
)

// energy is what all GPUs took over windows, J.
func (w watched) energy(windows []window) (float64, bool) {
	return w.powered(func(s Series) (float64, bool) { return s.over(windows, Series.integral) })
}

// powered adds up one number of the power of each GPU, which all have to be
// known. Instantaneous power comes first: the other is the driver's average over
// the last second, which smears what came before a window into it.
func (w watched) powered(of func(Series) (float64, bool)) (total float64, known bool) {
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

func bySource(series []Series) map[string]Series {
	out := map[string]Series{}
	for _, s := range series {
		out[s.Source] = s
	}
	return out
}

// idleBefore is how long before the first request the engine is watched idling.
const idleBefore = 5 * time.Second

// idle is the power of all GPUs while an engine waited for its first request:
// the lowest mean over a second, since what was asked of the engine to prepare
// the requests (probes) may lie there too.
func (w watched) idle(first time.Duration) (float64, bool) {
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
