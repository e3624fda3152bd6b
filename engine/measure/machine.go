package measure

import (
	"slices"
	"time"
)

// gpu adds what the GPUs did over the windows of all cells.
func (o single) gpu(windows []window, all watched) {
	if len(windows) == 0 {
		return
	}
	energy, known := all.energy(windows)
	o.put("energy_j", energy, known)
	o.put("power_w", energy/totalSeconds(windows), known)
	peak := func(s Series) (float64, bool) { return s.peak(windows) }
	power, known := all.powered(func(s Series) (float64, bool) { return s.peak(windows) })
	o.put("peak_power_w", power, known)
	memory, known := all.sum(GPUMemory, peak)
	o.put("memory_gb", memory, known)
	memory, known = all.sum(GPUProcessMemory, peak)
	o.put("process_memory_gb", memory, known)

	clocks, known := all.each(GPUClock, func(s Series) (float64, bool) { return s.middle(windows) })
	if known {
		o.put("clock_mhz", slices.Min(clocks), true)
	}
	degrees, known := all.each(GPUTemperature, peak)
	if known {
		o.put("temperature_c", slices.Max(degrees), true)
	}
	busy, known := all.each(GPUUtilization, func(s Series) (float64, bool) { return s.average(windows) })
	if known {
		slices.Sort(busy)
		o.put("utilization", meanOf(busy), true)
	}
	for name, bad := range map[string]func(Series, int) bool{"throttled_share": throttled, "power_capped_share": powerCapped} {
		shares, known := all.each(GPUThrottle, func(s Series) (float64, bool) { return s.share(windows, bad) })
		if known {
			o.put(name, slices.Max(shares), true)
		}
	}
}

// host adds what the machine did over the windows of all cells.
func (o single) host(windows []window, all watched) {
	if len(windows) == 0 {
		return
	}
	busy, known := all.sum(HostCPU, func(s Series) (float64, bool) { return s.average(windows) })
	o.put("cpu_share", busy, known && len(all.by[HostCPU]) == 1)
	memory, known := all.sum(HostMemory, func(s Series) (float64, bool) { return s.peak(windows) })
	o.put("memory_gb", memory, known && len(all.by[HostMemory]) == 1)
	energy, known := all.sum(HostEnergy, func(s Series) (float64, bool) { return s.over(windows, Series.growth) })
	o.put("energy_j", energy, known)
}

// each is one number of every series of a name, which all have to be known.
func (w watched) each(name string, of func(Series) (float64, bool)) (out []float64, known bool) {
	for _, s := range w.whole(name) {
		x, ok := of(s)
		if !ok {
			return nil, false
		}
		out = append(out, x)
	}
	return out, len(out) > 0
}

// over adds up windows, which all have to be known.
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

// share is the part of all windows in which readings stood that bad says so of.
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
