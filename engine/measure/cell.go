package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// totals are what metrics of a cell's window are divided by or computed from.
type totals struct {
	// tokens are the output tokens of all answered requests, if known.
	tokens float64
	known  bool
}

// cell adds the metrics of the cell's requests together.
func (o single) cell(c CellRun, all []answer) totals {
	p := newPhases()
	answered, good, prompt, output, retries := 0, 0, 0, 0, 0
	computedAll, countedAll, recorded, inside := true, true, false, c.window().exists()
	for _, s := range all {
		retries += s.Retries
		recorded = recorded || s.recorded()
		if s.values == nil {
			continue
		}
		answered++
		if keeps(s.values, c.SLO) {
			good++
		}
		tokens, known := computed(*s.Sample, c)
		// A fully cached prompt left nothing to compute.
		known = known || (s.CachedTokens >= 0 && s.PromptTokens == s.CachedTokens)
		prompt, computedAll = prompt+max(tokens, 0), computedAll && known
		output, countedAll = output+max(s.OutputTokens, 0), countedAll && plausible(s.OutputTokens)
		inside = inside && s.inside(c.window())
		p.add(*s.Sample)
	}
	some := answered > 0 && inside
	length := c.window().seconds()
	o.put("tg_total", float64(output)/length, some && countedAll)
	o.put("pp_total", float64(prompt)/length, some && computedAll)
	o.put("tg_total_decoding", float64(p.decoded)/p.decoding.seconds(), some && p.known && p.decoding.exists())
	o.put("pp_total_prefilling", float64(prompt)/p.prefilling.seconds(), some && computedAll && p.known && p.prefilling.exists())
	o.put("requests_per_s", float64(answered)/length, some)
	o.put("goodput", float64(good)/length, some && len(c.SLO) > 0)
	o.put("slo_attainment", float64(good)/float64(len(all)), len(all) > 0 && len(c.SLO) > 0)
	o.put("duration_s", length, some)
	o.put("errors", float64(len(all)-answered), len(all) > 0)
	o.put("error_rate", float64(len(all)-answered)/float64(len(all)), len(all) > 0)
	o.put("retry_count", float64(retries), recorded)
	peak, known := peakTokens(c, all)
	o.put("tg_peak", peak, known && some)
	return totals{tokens: float64(output), known: some && countedAll}
}

// phases are when the answered requests of a cell were prefilled, from the first send to
// the last first token, and decoded, from the first first token to the last token.
type phases struct {
	prefilling, decoding window
	// decoded are the tokens after the first of each request.
	decoded int
	// known is false if one of them does not report when, or how many.
	known bool
}

func newPhases() phases {
	const never = math.MaxInt64
	return phases{prefilling: window{from: never}, decoding: window{from: never}, known: true}
}

func (p *phases) add(s Sample) {
	t := tokensOf(s)
	if !s.recorded() || len(t.steps) == 0 || t.after < 0 {
		p.known = false
		return
	}
	first, last := s.Start+t.steps[0].at, s.Start+t.steps[len(t.steps)-1].at
	p.prefilling = window{min(p.prefilling.from, s.Start), max(p.prefilling.to, first)}
	p.decoding = window{min(p.decoding.from, first), max(p.decoding.to, last)}
	p.decoded += t.after
}

// plausible reports whether a count of tokens is known and not absurd.
func plausible(tokens int) bool { return tokens >= 0 && tokens <= math.MaxInt32 }

// keeps reports whether a request kept every limit.
func keeps(v Values, limits map[string]float64) bool {
	for name, limit := range limits {
		if len(v[name]) == 0 || !(slices.Max(v[name]) <= limit) {
			return false
		}
	}
	return true
}

// second is the width of the peak's interval.
const second = time.Second

// peakTokens is the maximum of tokens that arrived within a second, its end excluded.
func peakTokens(c CellRun, all []answer) (most float64, known bool) {
	if !c.window().exists() || c.To-c.From < second {
		return 0, false
	}
	var arrived []step
	for _, s := range all {
		if s.values == nil {
			continue
		}
		t := tokensOf(*s.Sample)
		if !s.recorded() || (!t.counted && len(t.steps) > 0) {
			return 0, false
		}
		for _, e := range t.steps {
			arrived = append(arrived, step{s.Start + e.at, e.tokens})
		}
	}
	slices.SortFunc(arrived, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	sum, best, first := 0, 0, 0
	for _, e := range arrived {
		sum += e.tokens
		for arrived[first].at <= e.at-second {
			sum -= arrived[first].tokens
			first++
		}
		best = max(best, sum)
	}
	return float64(best), best > 0
}

// engineSeries is the prefix of the name of a series from the
// engine's own metrics.
const engineSeries = "engine."

// engine adds what the engine counted and reported over a cell's window. An engine's page
// is read four times a second, so all readings of a short cell may be from moments at
// which nothing was in flight: then how many requests ran and how full the cache was is
// unknown, not zero.
func (o single) engine(w window, sent []Sample, all seriesSet) {
	if !w.exists() {
		return
	}
	gauge := func(name string, of func(Series, []window) (float64, bool)) (float64, bool) {
		return engines(all.by[engineSeries+name], func(s Series) (float64, bool) { return of(s, []window{w}) })
	}
	grown := func(s Series) (float64, bool) { return s.difference(w) }
	counted := func(name string) (float64, bool) { return engines(all.by[engineSeries+name], grown) }
	busy := flown(w, sent)
	running, known := gauge("running", func(s Series, windows []window) (float64, bool) { return s.during(busy).middle(windows) })
	o.put("reached_concurrency", running, known)
	waiting, known := gauge("waiting", Series.average)
	o.put("waiting", waiting, known)
	o.fullest(w, busy, all)

	drafts, hasDrafts := counted("spec_drafts")
	drafted, hasDrafted := counted("spec_draft_tokens")
	accepted, hasAccepted := counted("spec_accepted_tokens")
	o.ratio("accept_rate", accepted, drafted, hasAccepted && hasDrafted)
	if drafts > 0 {
		o.put("accept_length", 1+accepted/drafts, hasAccepted && hasDrafts)
	} else if !hasDrafts {
		said, known := gauge("spec_accept_length", Series.spoken)
		o.put("accept_length", said, known)
	}
	for i := range draftPositions {
		at, known := engines(all.at(engineSeries+"spec_accepted_per_pos", i), grown)
		o.ratio(fmt.Sprintf("accept_pos%d", i), at, drafts, known && hasDrafts)
	}

	hits, hasHits := counted("prefix_cache_hits")
	queries, hasQueries := counted("prefix_cache_queries")
	o.ratio("prefix_hit_rate", hits, queries, hasHits && hasQueries)
	preempted, known := counted("preemptions")
	o.put("preemptions", preempted, known)
	queued, hasQueued := counted("queue_time_sum")
	times, hasTimes := counted("queue_time_count")
	o.ratio("engine_queue", 1000*queued, times, hasQueued && hasTimes)
}

// mostUsed is how full a cache may report to be: above 1, it counts a block twice or
// rounds.
const mostUsed = 1.01

// fullest adds the usage of the fullest KV cache. A value that is not a share shows that
// the gauge is something else, so none is known.
func (o single) fullest(w window, busy []window, all seriesSet) {
	most, known := 0.0, false
	for _, s := range all.by[engineSeries+"kv_cache_usage"] {
		if slices.ContainsFunc(s.within([]window{w}), func(x float64) bool { return x < 0 || x > mostUsed }) {
			return
		}
		x, ok := s.during(busy).peak([]window{w})
		if !ok {
			return
		}
		most, known = max(most, x), true
	}
	o.put("kv_cache_usage", min(most, 1), known)
}

// ratio adds the quotient of a part and a whole, if the whole is not zero.
func (o single) ratio(name string, part, whole float64, known bool) {
	if whole > 0 {
		o.put(name, part/whole, known)
	}
}

// resources adds the machine's resources used by a cell over its window.
func (o single) resources(w window, all seriesSet, t totals) {
	if !w.exists() {
		return
	}
	windows := []window{w}
	energy, known := all.energy(windows)
	o.put("energy_j", energy, known)
	o.put("power_w", energy/w.seconds(), known)
	o.ratio("joules_per_token", energy, t.tokens, known && t.known)
	o.ratio("tokens_per_joule", t.tokens, energy, known && t.known)
	for name, series := range map[string]string{
		"gpu_memory_gb": GPUMemory, "gpu_process_memory_gb": GPUProcessMemory,
		"engine_memory_gb": EngineMemory, "container_memory_gb": ContainerMemory,
	} {
		peak, known := all.sum(series, func(s Series) (float64, bool) { return s.peak(windows) })
		o.put(name, peak, known)
	}
	memory, known := all.memoryInUse(windows)
	o.put("gpu_memory_in_use_gb", memory, known)
}

// gpu adds what the GPUs did over the windows of all cells.
func (o single) gpu(windows []window, all seriesSet) {
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
	memory, known = all.memoryInUse(windows)
	o.put("memory_in_use_gb", memory, known)
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
func (o single) host(windows []window, all seriesSet) {
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

// single adds metrics that have one value per launch.
type single struct {
	out    map[string]Summary
	prefix string
	scope  Scope
}

// put adds a metric unless its value is unknown or not finite.
func (o single) put(name string, x float64, known bool) {
	m, found := LookupIn(name, o.scope)
	if !known || !found {
		return
	}
	if s, ok := m.Summary([]float64{x}); ok {
		o.out[o.prefix+name] = s
	}
}
