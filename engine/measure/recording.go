package measure

import "time"

// Recording is everything that one launch left behind to derive metrics from.
// Evaluate is a pure function of it, so every stored metric can be recomputed
// from stored recordings.
type Recording struct {
	// Cells are the cells in the order in which they were sent.
	Cells []CellRun
	// Samples are all requests, warm-ups and contexts included.
	Samples []Sample
	// Series are what was sampled beside them.
	Series []Series
}

// CellRun is one cell as it was sent within one launch: what was asked for, and
// the time in which it was measured, on the recording's monotonic clock.
type CellRun struct {
	Cell string `json:"cell"`
	// From is when the first measured request was due, To when the last one had
	// ended.
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
	// Prompt, Output and Depth are tokens asked for; 0 where lengths differ.
	Prompt int `json:"prompt,omitempty"`
	Output int `json:"output,omitempty"`
	Depth  int `json:"depth,omitempty"`
	// Concurrency is how many requests a closed loop kept in flight; of an open
	// loop it is the cap, 0 for none, and Rate its requests a second.
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// SLO are the limits in ms that a good request keeps, by metric.
	SLO map[string]float64 `json:"slo,omitempty"`
	// Correction is how Latency was measured: "none", "api" or "generation", as
	// llama-benchy has them. Latency is subtracted in the metrics that say so.
	Correction string        `json:"correction,omitempty"`
	Latency    time.Duration `json:"latency_ns,omitempty"`
	// ExactOutput says that the length of answers was enforced.
	ExactOutput bool `json:"exact_output,omitempty"`
	// ByEvents says that output tokens of at least one answer are stream events that
	// the client counted, because the engine did not count them: one may hold many.
	ByEvents bool `json:"by_events,omitempty"`
	// UniqueContext says that what came before each prompt was its own, sent once
	// and never put into a cache. Only then are the tokens of a context known to
	// have been computed where the engine does not say how many were cached.
	UniqueContext bool `json:"unique_context,omitempty"`
}

// Evaluate derives every metric of a launch that the recording has evidence
// for, by address without statistic: "chat.o32.tg", "gpu.power_w". It is a pure
// function, and on one architecture the same recording gives the same bits:
// whatever is summed is summed in a fixed order, and products are rounded before
// they are added, so that no architecture fuses what others do in two steps.
func Evaluate(r Recording) map[string]Summary {
	out := map[string]Summary{}
	samples := bySent(r)
	watched := newWatched(r.Series)
	for _, c := range r.Cells {
		sent, once := samples[c.Cell]
		if !once {
			continue
		}
		answers := answersOf(sent, c)
		for name, s := range summarize(answers, c) {
			out[c.Cell+"."+name] = s
		}
		one := single{out: out, prefix: c.Cell + ".", scope: PerCell}
		totals := one.cell(c, answers)
		one.engine(c.window(), sent, watched)
		one.resources(c.window(), watched, totals)
	}
	windows := windowsOf(r.Cells)
	gpus := single{out: out, prefix: "gpu.", scope: PerGPU}
	gpus.gpu(windows, watched)
	if first, sent := firstSend(r.Samples); sent {
		idle, known := watched.idle(first)
		gpus.put("idle_power_w", idle, known)
	}
	single{out: out, prefix: "host.", scope: PerHost}.host(windows, watched)
	return out
}

// bySent are the samples of each cell. A cell that was sent twice is not among
// them: which of its samples belong to which window is not known.
func bySent(r Recording) map[string][]Sample {
	out, seen := map[string][]Sample{}, map[string]int{}
	for _, c := range r.Cells {
		out[c.Cell] = nil
		seen[c.Cell]++
	}
	for _, s := range r.Samples {
		if seen[s.Workload] == 1 {
			out[s.Workload] = append(out[s.Workload], s)
		}
	}
	for cell, n := range seen {
		if n > 1 {
			delete(out, cell)
		}
	}
	return out
}

// single adds metrics that have one value a launch.
type single struct {
	out    map[string]Summary
	prefix string
	scope  Scope
}

// put adds a metric unless its value is not known or not finite.
func (o single) put(name string, x float64, known bool) {
	m, found := LookupIn(name, o.scope)
	if !known || !found {
		return
	}
	if s, ok := m.Summary([]float64{x}); ok {
		o.out[o.prefix+name] = s
	}
}
