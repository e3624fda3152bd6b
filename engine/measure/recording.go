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
}

// Evaluate derives every metric of a launch that the recording has evidence
// for, by address without statistic: "chat.o32.tg", "gpu.power_w".
func Evaluate(r Recording) map[string]Summary {
	out := map[string]Summary{}
	for _, c := range r.Cells {
		for name, s := range Summarize(r.Samples, c.Cell) {
			out[c.Cell+"."+name] = s
		}
	}
	return out
}
