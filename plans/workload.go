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

var workloadSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "summary"},
	{Name: "prompt_tokens"},
	{Name: "output_tokens"},
	{Name: "requests"},
	{Name: "warmup"},
	{Name: "api"},
	{Name: "temperature"},
	{Name: "seed"},
	{Name: "ignore_eos"},
	{Name: "request_timeout"},
	{Name: "first_timeout"},
	{Name: "stall_timeout"},
}}

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
