package stress

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/plans"
)

var Schema = plans.Schema{
	Asks: true,
	Doc: "The engine survives load beyond a benchmark. It gets many requests in sequence, rising concurrency, long " +
		"contexts, hours of load. Each part is optional, and they run in the order of the attributes. " +
		"It passes if the engine neither dies nor hangs, every answer is complete and reads like its answers without " +
		"load, and memory does not grow beyond its limit.",
	Example: `level "stress" {
  sequential       = 200
  concurrency      = [2, 8, 32]
  context_tokens   = [32768]
  soak             = "10m"
  max_memory_slope = 20
}`,
	Attrs: plans.Attrs(Config{}),
	Finds: func(b *plans.Block) []plans.LevelResult {
		var c Config
		if b.Decode(&c) != nil {
			return nil
		}
		return c.finds()
	},
	Longest: func(b *plans.Block) int {
		var c Config
		if b.Decode(&c) != nil {
			return 0
		}
		return c.longest()
	},
	Check: plans.Checked(check),
}

// Config is the level as a plan has it.
type Config struct {
	Sequential  int   `hcl:"sequential,optional" unit:"requests" min:"1" max:"100000" doc:"Requests sent one after the other."`
	Concurrency []int `hcl:"concurrency,optional" unit:"requests" min:"1" max:"4096" doc:"A ramp: requests in flight, one number after the other."`
	PerStream   int   `hcl:"requests_per_stream,optional" default:"4" unit:"requests" min:"1" max:"100000" doc:"How many requests each stream of the ramp sends."`
	// Contexts have room for an answer (contextOutput) and a prompt before it.
	Contexts       []int     `hcl:"context_tokens,optional" unit:"tokens" min:"64" doc:"Long contexts: one request of each length. Prompt and answer count together. A length beyond the engine's limit is refused by 'validate' if the plan sets 'max_model_len', and otherwise fails."`
	Soak           plans.Dur `hcl:"soak,optional" doc:"How long requests continue. The last number of 'concurrency', or 1, are kept in flight."`
	Prompt         []int     `hcl:"prompt_tokens,optional" default:"[16, 256]" unit:"tokens" min:"8" doc:"Prompt lengths: between two numbers (uniform), or one for all."`
	Output         []int     `hcl:"output_tokens,optional" default:"[8, 64]" unit:"tokens" min:"1" doc:"Answer lengths, drawn the same way. An engine may end one earlier."`
	MaxMemorySlope *float64  `hcl:"max_memory_slope,optional" unit:"MB per 1000 requests" min:"0" requires:"soak|sequential" doc:"Maximum growth of memory during the soak. It holds for the engine's processes, its container and each GPU; without 'soak', during 'sequential'. The first third, in which pools fill, is left out. Without it, the slope is shown and decides nothing."`
	Coherence      string    `hcl:"coherence,optional" oneof:"absolute|off" default:"absolute" doc:"Whether answers must read as text. 'absolute' requires it of most of those before all load, and those under load to be no worse. 'off' checks no text, for random weights, and notes it."`
	RequestTimeout plans.Dur `hcl:"request_timeout,optional" default:"5m" doc:"A request not answered within this time is stuck."`
	StallTimeout   plans.Dur `hcl:"stall_timeout,optional" default:"1m" doc:"So is one whose answer pauses for longer than this."`
}

// check checks what types cannot express.
func check(_ *plans.Block, c Config) (errs []plans.AttrError) {
	wrong := func(attr, summary, detail string, args ...any) {
		errs = append(errs,
			plans.AttrError{Attr: attr, Code: "stress-parts", Summary: summary, Detail: fmt.Sprintf(detail, args...)})
	}
	if c.Sequential == 0 && len(c.Concurrency) == 0 && len(c.Contexts) == 0 && c.Soak == 0 {
		wrong("", "Stress level does nothing",
			"Give it at least one of sequential, concurrency, context_tokens and soak.")
	}
	for _, drawn := range []struct {
		name string
		is   []int
	}{{"prompt_tokens", c.Prompt}, {"output_tokens", c.Output}} {
		if n := len(drawn.is); n != 1 && n != 2 || drawn.is[0] > drawn.is[n-1] {
			wrong(drawn.name, "Invalid range of lengths",
				"%s is %v: write minimum and maximum length, such as [16, 256], or one number.", drawn.name, drawn.is)
		}
	}
	return errs
}

// longest is the maximum of tokens per request, prompt and answer together.
func (c Config) longest() int {
	return max(c.Prompt[len(c.Prompt)-1]+c.Output[len(c.Output)-1], slices.Max(append(c.Contexts, 0)))
}

func (c Config) finds() (found []plans.LevelResult) {
	number := func(name, unit, doc string) {
		found = append(found, plans.LevelResult{Name: name, Unit: unit, Better: "lower", Doc: doc})
	}
	if c.Sequential > 0 || len(c.Concurrency) > 0 || c.Soak > 0 {
		const of = " of the requests of `soak`, or else of the last number of `concurrency`, or else of `sequential`"
		number("ttft", "ms", "Median time to first token"+of+".")
		number("ttft_p99", "ms", "Its 99th percentile, of 299 requests or more.")
		number("e2e", "ms", "Median end-to-end latency"+of+".")
		number("e2e_p99", "ms", "Its 99th percentile, of 299 requests or more.")
	}
	if c.Sequential > 0 || c.Soak > 0 {
		number("memory_slope", "MB", "How much the engine's memory on the host grew per 1000 requests.")
		number("gpu_memory_slope", "MB", "How much GPU memory grew per 1000 requests, on the GPU where it grew most.")
	}
	return found
}
