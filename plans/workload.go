package plans

import (
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// Workload is what is sent. Each combination of its list-valued dimensions is
// a Cell.
type Workload struct {
	Name    string
	Summary string
	// PromptTokens and OutputTokens hold one value, or several where the plan
	// gave a list.
	PromptTokens []int
	OutputTokens []int
	// PromptList and OutputList say that the plan wrote a list, so that the
	// dimension is part of the cells' addresses even with one element.
	PromptList, OutputList bool
	// Requests are measured, Warmup requests go before them, per cell and launch.
	Requests, Warmup int
	// API is "completions" or "chat".
	API         string
	Temperature float64
	Seed        int
	// IgnoreEOS enforces the output length.
	IgnoreEOS bool
	// RequestTimeout limits one request; FirstTimeout the first one after a
	// start, which may compile kernels; StallTimeout the wait between events.
	RequestTimeout, FirstTimeout, StallTimeout time.Duration

	// PromptLengths and OutputLengths draw lengths in place of PromptTokens and
	// OutputTokens, which are empty then.
	PromptLengths, OutputLengths *Lengths
	// Depth is tokens of context before each prompt; it always has a value, 0 where
	// the plan gives none. DepthCached puts the context into the prefix cache first.
	Depth       []int
	DepthList   bool
	DepthCached bool
	// Concurrency always has a value in a closed loop, 1 where the plan gives none,
	// and is empty in an open loop, which Rate (requests a second) makes.
	Concurrency     []int
	ConcurrencyList bool
	Rate            []float64
	RateList        bool
	// RateTo is what a rate grows to over the cell, 0 for a constant one. Arrival
	// is "constant", "poisson", "gamma" or "trace", empty in a closed loop;
	// Burstiness the shape of gamma, MaxConcurrency the cap of an open loop.
	RateTo         float64
	Arrival        string
	Burstiness     float64
	MaxConcurrency int
	// Duration ends sending before Requests are through; 0 is no limit.
	Duration time.Duration
	// Turns of each conversation, at least 1, and the length of the system prompt
	// that all of a cell share, 0 for none.
	Turns, SystemTokens int
	// Prompts is "text" or "random" (token ids); Data is read in their place.
	Prompts string
	Data    *Dataset
	// CountTemplate says that prompt lengths include the chat template.
	CountTemplate bool
	// Sampling; 0 sends none.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// SLO are the limits of a good request by metric: "ttft", "tpot", "itl", "e2e".
	SLO map[string]time.Duration
	// LatencyCorrection is "none", "api" or "generation".
	LatencyCorrection string
	// Coherence is "absolute", "baseline" or "off": how answers are checked.
	Coherence string
	// Retries and MaxErrors of requests; MaxLag is how late the client may be, and
	// MinReached the share of Concurrency that the engine must reach.
	Retries, MaxErrors int
	MaxLag             time.Duration
	MinReached         float64

	Range Range `json:"-"`
}

// Lengths draws a number of tokens for each request.
type Lengths struct {
	// Distribution is "uniform" (Min to Max), "normal", "lognormal" (Mean and Std
	// of the length itself, kept within Min and Max).
	Distribution string
	Min, Max     int
	Mean, Std    float64
}

// Dataset is a file of prompts.
type Dataset struct {
	// File is absolute; Digest is the SHA-256 of its content, in hexadecimal.
	File   string `json:"-"`
	Digest string
}

var workloadDoc = &BlockDoc{
	Type: "workload", Times: AnyTimes, Repeats: true,
	Labels: []Label{{"name", "What references and rules call it: `workload.<name>`, `<name>.tg.gain`."}},
	Doc:    "What is sent. Each combination of lists is a cell: `output_tokens = [32, 128]` makes `chat.o32` and `chat.o128`; prompt lengths are `p512`, before the output. Prompts are unique from their first token on, so that prefix caches miss, and the same for all arms.",
	Attrs: []Attr{
		{Name: "summary", Type: String, Doc: "What it stands for, in one sentence."},
		{Name: "prompt_tokens", Type: Ints, Required: true, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "Length of each prompt, or several lengths."},
		{Name: "output_tokens", Type: Ints, Required: true, Unit: "tokens", Min: 1, MinSet: true, Max: maxTokens, Doc: "Length of each answer, or several lengths."},
		{Name: "requests", Type: Int, Default: 10.0, Unit: "requests", Min: 1, MinSet: true, Max: maxRequests, Doc: "Measured requests per cell and launch."},
		{Name: "warmup", Type: Int, Default: 3.0, Unit: "requests", MinSet: true, Max: maxRequests, Doc: "Requests before them that are not measured."},
		{Name: "api", Type: String, Default: "completions", OneOf: []string{"completions", "chat"}, Doc: "The endpoint."},
		{Name: "temperature", Type: Number, Default: 0.0, MinSet: true, Max: 100, Doc: "Sampling; 0 takes the likeliest token."},
		{Name: "seed", Type: Int, Default: 42.0, MinSet: true, Max: math.MaxInt32, Doc: "Seed of prompts and sampling."},
		{Name: "ignore_eos", Type: Bool, Default: true, Doc: "Go on after the end of text, which enforces the length of the answer."},
		{Name: "request_timeout", Type: Duration, Default: "2m", Doc: "Time limit of one request."},
		{Name: "first_timeout", Type: Duration, Default: "10m", Doc: "Time limit of the first request after a start, which may compile kernels."},
		{Name: "stall_timeout", Type: Duration, Default: "30s", Doc: "Longest wait between two events of a stream."},
	},
	Example: `workload "chat" {
  prompt_tokens = 2048
  output_tokens = [32, 128]
  requests      = 10
  warmup        = 3
}`,
}

var workloadSchema = workloadDoc.schema()

// Bounds that no engine of this decade reaches, and that keep every product of
// them within an int.
const (
	maxTokens   = 100_000_000
	maxRequests = 1_000_000
)

func (l *loader) decodeWorkload(b *hcl.Block) {
	f := l.fields(b, workloadSchema, fmt.Sprintf("workload %q", b.Labels[0]))
	w := &Workload{
		Name:           b.Labels[0],
		Summary:        f.text("summary", ""),
		Requests:       f.whole("requests", 10, 1, maxRequests),
		Warmup:         f.whole("warmup", 3, 0, maxRequests),
		API:            f.oneOf("api", "completions", "completions", "chat"),
		Temperature:    f.number("temperature", 0, 0, 100),
		Seed:           f.whole("seed", 42, 0, math.MaxInt32),
		IgnoreEOS:      f.truth("ignore_eos", true),
		RequestTimeout: f.duration("request_timeout", 2*time.Minute),
		FirstTimeout:   f.duration("first_timeout", 10*time.Minute),
		StallTimeout:   f.duration("stall_timeout", 30*time.Second),
		Range:          rangeOf(b.DefRange),

		Depth: []int{0}, Concurrency: []int{1}, Turns: 1, Prompts: "text", CountTemplate: true,
		LatencyCorrection: "none", Coherence: "baseline", MinReached: 0.8, MaxLag: 10 * time.Millisecond,
	}
	f.required("prompt_tokens", "how many tokens each prompt has, such as 2048.")
	f.required("output_tokens", "how many tokens are generated for each request, such as 32.")
	w.PromptTokens, w.PromptList = f.wholes("prompt_tokens", 1, maxTokens)
	w.OutputTokens, w.OutputList = f.wholes("output_tokens", 1, maxTokens)
	if l.first(b) {
		l.plan.Workloads = append(l.plan.Workloads, w)
	}
}
