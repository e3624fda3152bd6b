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
	Range                                      Range `json:"-"`
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
	}
	f.required("prompt_tokens", "how many tokens each prompt has, such as 2048.")
	f.required("output_tokens", "how many tokens are generated for each request, such as 32.")
	w.PromptTokens, w.PromptList = f.wholes("prompt_tokens", 1, maxTokens)
	w.OutputTokens, w.OutputList = f.wholes("output_tokens", 1, maxTokens)
	if l.first(b) {
		l.plan.Workloads = append(l.plan.Workloads, w)
	}
}
