package plans

import "time"

// NewWorkload is a workload with everything at its default and nothing to send,
// for who has no plan.
func NewWorkload(name string) *Workload {
	return &Workload{
		Name: name, Requests: 10, Warmup: 3, API: "completions", Seed: 42, IgnoreEOS: true,
		RequestTimeout: 2 * time.Minute, FirstTimeout: 10 * time.Minute, StallTimeout: 30 * time.Second,
		Depth: []int{0}, Concurrency: []int{1}, Turns: 1, Prompts: "text", CountTemplate: true,
		LatencyCorrection: "none", Coherence: "baseline", MinReached: 0.8,
	}
}
