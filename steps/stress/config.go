package stress

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// Schema is the level's schema.
var Schema = plans.Schema{
	Asks: true,
	Doc: "The engine survives load beyond a benchmark: many requests in sequence, rising concurrency, long contexts, requests cancelled in mid-answer, more at once than it takes, hours of it. Each part is optional, and they run in the order of the attributes. " +
		"It passes if the engine neither dies nor hangs, every answer is complete and reads like its answers without load, cancelled requests end, requests are answered as fast after the load as before it, and memory does not grow beyond its limit.",
	Example: `level "stress" {
  sequential       = 200
  concurrency      = [2, 8, 32]
  context_tokens   = [32768]
  cancel           = 16
  burst            = 128
  soak             = "10m"
  max_memory_slope = 20
}`,
	Attrs: []plans.Attr{
		{Name: "sequential", Type: plans.Int, Unit: "requests", Min: 1, MinSet: true, Max: most, Doc: "Requests sent one after the other."},
		{Name: "concurrency", Type: plans.Ints, Unit: "requests", Min: 1, MinSet: true, Max: mostAtOnce, Doc: "A ramp: each number in turn is how many requests are kept in flight."},
		{Name: "requests_per_stream", Type: plans.Int, Default: 4.0, Unit: "requests", Min: 1, MinSet: true, Max: most, Doc: "How many requests each stream of the ramp sends."},
		{Name: "context_tokens", Type: plans.Ints, Unit: "tokens", Min: leastContext, MinSet: true, Doc: "Long contexts: one request of each length, prompt and answer together. A length beyond the engine's limit is refused by `validate` if the plan sets `max_model_len`, and otherwise fails."},
		{Name: "cancel", Type: plans.Int, Unit: "requests", Min: 1, MinSet: true, Max: most, Doc: "Requests cancelled while they are answered, some before their first token and some after it."},
		{Name: "burst", Type: plans.Int, Unit: "requests", Min: 2, MinSet: true, Max: mostAtOnce, Doc: "Requests sent at once: more than the engine takes. It may refuse some with HTTP status 429 or 503, but not all."},
		{Name: "soak", Type: plans.Duration, Doc: "How long requests continue, at the last number of `concurrency`, or 1."},
		{Name: "prompt_tokens", Type: plans.Ints, Default: []any{16.0, 256.0}, Unit: "tokens", Min: 8, MinSet: true, Doc: "Length of prompts: drawn uniformly between two numbers, or one number for all."},
		{Name: "output_tokens", Type: plans.Ints, Default: []any{8.0, 64.0}, Unit: "tokens", Min: 1, MinSet: true, Doc: "Length of answers, drawn the same way; an engine may end one earlier."},
		{Name: "max_slowdown", Type: plans.Number, Default: 3.0, Unit: "times", Min: 1, MinSet: true, Doc: "How many times longer a lone request may take after cancellations and after a burst than before all load; 100 ms more are always allowed."},
		{Name: "max_memory_slope", Type: plans.Number, Unit: "MB per 1000 requests", Min: 0, MinSet: true, Doc: "How fast the memory of the engine's processes, its container and each GPU may grow during the soak, or without `soak` during `sequential`; the first third, in which pools fill, is left out. Without it, the slope is shown and decides nothing."},
		{Name: "coherence", Type: plans.String, Default: "absolute", OneOf: []string{"absolute", "off"}, Doc: "How answers are checked: absolute requires most of those before all load to read as text, and those under load to be no worse; off checks no text, for random weights, and notes it."},
		{Name: "request_timeout", Type: plans.Duration, Default: "5m", Doc: "A request not answered within this time is stuck, including those waiting in a burst."},
		{Name: "stall_timeout", Type: plans.Duration, Default: "1m", Doc: "So is one whose answer pauses for longer than this, and a cancelled one that the engine still counts as running after it."},
	},
	Finds: func(b *plans.Block) []plans.Found {
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

const (
	most, mostAtOnce = 100_000, 4096
	// leastContext is the shortest long context: an answer and a prompt before it.
	leastContext = 2 * contextOutput
)

// Config is the level as a plan has it.
type Config struct {
	Sequential     int       `json:"sequential"`
	Concurrency    []int     `json:"concurrency"`
	PerStream      int       `json:"requests_per_stream"`
	Contexts       []int     `json:"context_tokens"`
	Cancel         int       `json:"cancel"`
	Burst          int       `json:"burst"`
	Soak           plans.Dur `json:"soak"`
	Prompt         []int     `json:"prompt_tokens"`
	Output         []int     `json:"output_tokens"`
	MaxSlowdown    float64   `json:"max_slowdown"`
	MaxMemorySlope *float64  `json:"max_memory_slope"`
	Coherence      string    `json:"coherence"`
	RequestTimeout plans.Dur `json:"request_timeout"`
	StallTimeout   plans.Dur `json:"stall_timeout"`
}

// check checks what types cannot express.
func check(_ *plans.Block, c Config) (errs []plans.AttrError) {
	wrong := func(attr, summary, detail string, args ...any) {
		errs = append(errs, plans.AttrError{Attr: attr, Code: "stress-parts", Summary: summary, Detail: fmt.Sprintf(detail, args...)})
	}
	if c.Sequential == 0 && len(c.Concurrency) == 0 && len(c.Contexts) == 0 && c.Cancel == 0 && c.Burst == 0 && c.Soak == 0 {
		wrong("", "Stress level does nothing", "Give it at least one of sequential, concurrency, context_tokens, cancel, burst and soak.")
	}
	for _, drawn := range []struct {
		name string
		is   []int
	}{{"prompt_tokens", c.Prompt}, {"output_tokens", c.Output}} {
		if n := len(drawn.is); n != 1 && n != 2 || drawn.is[0] > drawn.is[n-1] {
			wrong(drawn.name, "Invalid range of lengths", "%s is %v: write minimum and maximum length, such as [16, 256], or one number.", drawn.name, drawn.is)
		}
	}
	if c.MaxMemorySlope != nil && c.Sequential == 0 && c.Soak == 0 {
		wrong("max_memory_slope", "Nothing shows a memory slope", "Memory is followed while the engine soaks, or in sequence: add soak = \"10m\" or sequential = 200, or remove max_memory_slope.")
	}
	if c.RequestTimeout <= 0 || c.StallTimeout <= 0 {
		wrong("", "Invalid time limit", "request_timeout and stall_timeout must be more than 0: without them a stuck request would never end the level.")
	}
	return errs
}

// longest is the maximum of tokens per request, prompt and answer together.
func (c Config) longest() int {
	return max(c.Prompt[len(c.Prompt)-1]+c.Output[len(c.Output)-1], probePrompt+cancelledOutput, slices.Max(append(c.Contexts, 0)))
}

// finds are the numbers that such a level finds.
func (c Config) finds() (found []plans.Found) {
	number := func(name, unit, doc string) {
		found = append(found, plans.Found{Name: name, Unit: unit, Better: "lower", Doc: doc})
	}
	if c.Sequential > 0 || len(c.Concurrency) > 0 || c.Soak > 0 {
		const of = " of the requests of `soak`, or else of the last number of `concurrency`, or else of `sequential`"
		number("ttft", "ms", "Median time to first token"+of+".")
		number("ttft_p99", "ms", "Its 99th percentile, of 299 requests or more.")
		number("e2e", "ms", "Median end-to-end latency"+of+".")
		number("e2e_p99", "ms", "Its 99th percentile, of 299 requests or more.")
	}
	if c.Cancel > 0 || c.Burst > 0 {
		number("slowdown", "times", "How many times longer a lone request took after cancellations or a burst, whichever is greater.")
	}
	if c.Sequential > 0 || c.Soak > 0 {
		number("memory_slope", "MB", "How much the engine's memory on the host grew per 1000 requests.")
		number("gpu_memory_slope", "MB", "How much GPU memory grew per 1000 requests, on the GPU where it grew most.")
	}
	return found
}
