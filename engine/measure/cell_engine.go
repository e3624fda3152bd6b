package measure

import (
	"fmt"
	"slices"
)

// engineSeries is what the name of a series begins with that comes from the
// engine's own metrics.
const engineSeries = "engine."

// engine adds what the engine counted and said of itself over a cell's window. An
// engine's page is read four times a second, so that all readings of a short cell
// may be of moments at which nothing was in flight: how many requests ran and how
// full the cache was is then not known, and not zero.
func (o single) engine(w window, sent []Sample, all watched) {
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

// mostUsed is how full a cache may say that it is: above 1, it counts a block
// twice or rounds.
const mostUsed = 1.01

// fullest adds the usage of the KV cache that was fullest. A number that is no
// share says that the gauge is not what it is taken for, so that none is known.
func (o single) fullest(w window, busy []window, all watched) {
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

// ratio adds a part of what there was any of.
func (o single) ratio(name string, part, whole float64, known bool) {
	if whole > 0 {
		o.put(name, part/whole, known)
	}
}

// resources adds what a cell took of the machine over its window.
func (o single) resources(w window, all watched, t totals) {
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
}
