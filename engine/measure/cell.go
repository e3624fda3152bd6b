package measure

import (
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/internal/sorted"
)

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

// ratio adds the quotient of a part and a whole, if both are known and the whole is not
// zero.
func (o single) ratio(name string, part, whole float64, known bool) {
	if known && whole > 0 {
		o.put(name, part/whole, true)
	}
}

// cell adds the metrics of the cell's requests together, and returns the output tokens of
// all answered requests, if they are known.
func (o single) cell(c CellRun, all []answer) (tokens float64, known bool) {
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
	}
	o.put("retry_count", float64(retries), recorded)
	o.prefixes(c, all)
	if len(all) > 0 {
		o.put("errors", float64(len(all)-answered), true)
		o.put("error_rate", float64(len(all)-answered)/float64(len(all)), true)
		o.put("slo_attainment", float64(good)/float64(len(all)), len(c.SLO) > 0)
	}
	if answered == 0 || !inside {
		return 0, false
	}
	length := c.window().seconds()
	o.put("tg_total", float64(output)/length, countedAll)
	o.put("pp_total", float64(prompt)/length, computedAll && c.Trace == nil)
	o.put("requests_per_s", float64(answered)/length, true)
	o.put("goodput", float64(good)/length, len(c.SLO) > 0)
	return float64(output), countedAll
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

// mostUsed is how full a cache may report to be: above 1, it counts a block twice or
// rounds.
const mostUsed = 1.01

// engine adds what the engine counted and reported over a cell's window. An engine's page
// is read four times a second, so all readings of a short cell may be from moments at
// which nothing was in flight: then how many requests ran and how full the cache was is
// unknown, not zero.
func (o single) engine(w Window, sent []Sample, all seriesSet) {
	if !w.exists() {
		return
	}
	windows, busy := []Window{w}, inFlight(w, sent)
	counted := func(name string) (float64, bool) {
		return all.engines(name, func(s Series) (float64, bool) { return s.difference(w) })
	}
	running, known := all.engines("running", func(s Series) (float64, bool) { return s.during(busy).median(windows) })
	o.put("reached_concurrency", running, known)
	waiting, known := all.engines("waiting", func(s Series) (float64, bool) { return s.average(windows) })
	o.put("waiting", waiting, known)

	// A value that is not a share shows that the gauge is something else. Of several
	// caches, the fullest counts.
	shares, known := all.each(engineSeries+"kv_cache_usage", func(s Series) (float64, bool) {
		values := s.within(windows)
		x, ok := s.during(busy).peak(windows)
		return x, ok && values[0] >= 0 && values[len(values)-1] <= mostUsed
	})
	if known {
		o.put("kv_cache_usage", min(slices.Max(shares), 1), true)
	}

	drafts, hasDrafts := counted("spec_drafts")
	drafted, hasDrafted := counted("spec_draft_tokens")
	accepted, hasAccepted := counted("spec_accepted_tokens")
	o.ratio("accept_rate", accepted, drafted, hasAccepted && hasDrafted)
	if rate, known := o.out[o.prefix+"accept_rate"]; known && hasDrafts && drafts > 0 {
		for n := range Positions {
			at, known := sumEngines(all.at("spec_accepted_per_pos", n), func(s Series) (float64, bool) {
				return s.difference(w)
			})
			if known && !notFinite(at/drafts) {
				rate.Stats[Position(n+1)] = at / drafts
			}
		}
	}
	if drafts > 0 {
		o.put("accept_length", 1+accepted/drafts, hasAccepted && hasDrafts)
	} else if !hasDrafts {
		length, known := all.engines("spec_accept_length", func(s Series) (float64, bool) {
			values := slices.DeleteFunc(s.within(windows), func(x float64) bool { return x <= 0 }) // zero is no value
			if len(values) == 0 {
				return 0, false
			}
			return meanOf(values), true
		})
		o.put("accept_length", length, known)
	}

	hits, hasHits := counted("prefix_cache_hits")
	queries, hasQueries := counted("prefix_cache_queries")
	o.ratio("prefix_hit_rate", hits, queries, hasHits && hasQueries)
	shared := o.out[o.prefix+"prefix_shared"].Stats["mean"]
	if _, known := o.out[o.prefix+"prefix_found"]; !known && queries > 0 {
		o.ratio("prefix_found", hits/queries, shared, hasHits && hasQueries)
	}
	preempted, known := counted("preemptions")
	o.put("preemptions", preempted, known)
	queued, hasQueued := counted("queue_time_sum")
	times, hasTimes := counted("queue_time_count")
	o.ratio("engine_queue", 1000*queued, times, hasQueued && hasTimes)
}

// inFlight is when requests of a cell were in flight within its window, as ordered,
// disjoint stretches: warm-ups and contexts included, since the engine works on them like
// on others. For a request without an event the time in flight is unknown.
func inFlight(w Window, sent []Sample) []Window {
	var all []Window
	for _, s := range sent {
		if !s.recorded() || len(s.Events) == 0 {
			continue
		}
		one := Window{max(s.Start, w.From), min(s.Start+s.Events[len(s.Events)-1].At, w.To)}
		if one.exists() {
			all = append(all, one)
		}
	}
	return union(all)
}

// resources adds the machine's resources used by a cell over its window, in which it
// generated n tokens.
func (o single) resources(w Window, all seriesSet, tokens float64, counted bool) {
	if !w.exists() {
		return
	}
	energy, known := o.gpus([]Window{w}, all, "gpu_")
	o.ratio("tokens_per_joule", tokens, energy, known && counted)
	memory, known := all.sum(EngineMemory, func(s Series) (float64, bool) { return s.peak([]Window{w}) })
	o.put("engine_memory_gb", memory, known)
}

// gpus adds the energy and memory of all GPUs over windows, with a prefix for the names of
// memory, and returns the energy.
func (o single) gpus(windows []Window, all seriesSet, prefix string) (energy float64, known bool) {
	var length time.Duration
	for _, w := range windows {
		length += w.To - w.From
	}
	memory, known := all.sum(GPUMemory, func(s Series) (float64, bool) { return s.peak(windows) })
	o.put(prefix+"memory_gb", memory, known)
	memory, known = all.memoryInUse(windows)
	o.put(prefix+"memory_in_use_gb", memory, known)
	energy, known = all.powered(func(s Series) (float64, bool) { return s.integral(windows) })
	if known {
		o.put("energy_j", energy, true)
		o.put("power_w", energy/length.Seconds(), true)
	}
	return energy, known
}

// gpu adds what the GPUs did over the windows of all cells.
func (o single) gpu(windows []Window, all seriesSet) {
	if len(windows) == 0 {
		return
	}
	o.gpus(windows, all, "")
	peak := func(s Series) (float64, bool) { return s.peak(windows) }
	power, known := all.powered(peak)
	o.put("peak_power_w", power, known)
	memory, known := all.sum(GPUProcessMemory, peak)
	o.put("process_memory_gb", memory, known)

	clocks, known := all.each(GPUClock, func(s Series) (float64, bool) { return s.median(windows) })
	if known {
		o.put("clock_mhz", slices.Min(clocks), true)
	}
	degrees, known := all.each(GPUTemperature, peak)
	if known {
		o.put("temperature_c", slices.Max(degrees), true)
	}
	for name, bad := range sorted.All(map[string]func(Series, int) bool{
		"throttled_share":    throttled,
		"power_capped_share": powerCapped,
	}) {
		shares, known := all.each(GPUThrottle, func(s Series) (float64, bool) { return s.share(windows, bad) })
		if known {
			o.put(name, slices.Max(shares), true)
		}
	}
}

// host adds what the machine did over the windows of all cells.
func (o single) host(windows []Window, all seriesSet) {
	busy, known := all.sum(HostCPU, func(s Series) (float64, bool) { return s.average(windows) })
	o.put("cpu_share", busy, known && len(all.by[HostCPU]) == 1)
	memory, known := all.sum(HostMemory, func(s Series) (float64, bool) { return s.peak(windows) })
	o.put("memory_gb", memory, known && len(all.by[HostMemory]) == 1)
}

// Limit is what a machine allows a cell (engine/limit), with its basis: by the formats of
// the model's config, to which shares refer, and by the smallest and fastest of all
// formats, which nothing exceeds. GB are 1e9 bytes.
type Limit struct {
	// Machine is the engine's GPUs, Model the architecture, and Source where its
	// config.json was read.
	Machine string `json:"machine"`
	Model   string `json:"model"`
	Source  string `json:"source,omitempty"`
	// BandwidthGBs is the bandwidth of all GPUs together. StepGB is the part that a
	// decoding step reads for Requests at once; 0 if their number is unknown.
	BandwidthGBs float64 `json:"bandwidth_gb_s"`
	StepGB       float64 `json:"step_gb,omitempty"`
	Requests     int     `json:"requests,omitempty"`
	// LeastGB is the minimum that a step reads; 0 if all of it may stay on the chip.
	LeastGB float64 `json:"least_gb,omitempty"`
	// PromptGFLOP is the cost of a prompt token, TFLOPs the GPUs' rate for numbers of
	// Bits, and MostTFLOPs for any.
	PromptGFLOP float64 `json:"prompt_gflop"`
	Bits        int     `json:"bits"`
	TFLOPs      float64 `json:"tflops"`
	MostTFLOPs  float64 `json:"most_tflops"`
	// Room is how far clocks may exceed those of the data sheets.
	Room float64 `json:"room"`
}

// MostSteps is how many steps per second nothing exceeds; 0 if no limit is known.
func (l *Limit) MostSteps() float64 {
	if l == nil || l.LeastGB <= 0 {
		return 0
	}
	return l.Room * l.BandwidthGBs / l.LeastGB
}

// MostPrompt is how many prompt tokens per second nothing exceeds, 0 as above.
func (l *Limit) MostPrompt() float64 {
	if l == nil || l.PromptGFLOP <= 0 {
		return 0
	}
	return l.Room * 1e3 * l.MostTFLOPs / l.PromptGFLOP
}

// oneEach is the maximum average of tokens per stream event if each step of the engine
// gives one.
const oneEach = 1.25

// limit adds the share of the machine's limit that a cell reached. With speculation a
// step gives several tokens: as many as the engine reports; if it does not and they come
// several at a time, the number of steps is unknown.
func (o single) limit(c CellRun, all []answer) {
	l := c.Limit
	if l == nil || l.StepGB <= 0 || l.PromptGFLOP <= 0 {
		return
	}
	tokens, events := 0, 0
	for _, s := range all {
		if s.values == nil {
			continue
		}
		tokens += max(s.OutputTokens, 0)
		for _, e := range s.Events {
			if e.HasText() || e.Kind == KindBlank {
				events++
			}
		}
	}
	perStep, known := o.out[o.prefix+"accept_length"].Stats["mean"]
	if !known {
		perStep, known = 1, events > 0 && float64(tokens) <= oneEach*float64(events)
	}
	if tg, has := o.out[o.prefix+"tg"].Stats["median"]; has {
		o.put("tg_of_limit", tg/(max(perStep, 1)*l.BandwidthGBs/l.StepGB), known)
	}
	if pp, has := o.out[o.prefix+"pp"].Stats["median"]; has {
		o.put("pp_of_limit", pp/(1e3*l.TFLOPs/l.PromptGFLOP), l.Requests == 1)
	}
}
