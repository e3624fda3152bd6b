package plans

import (
	"fmt"
	"slices"
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
	// Requests are measured, Warmup requests go before them, per cell and launch;
	// with Turns they are conversations. Where the plan gives no number, and not
	// all cells get these, ByCell says so: Cell has the numbers of each.
	Requests, Warmup             int
	RequestsByCell, WarmupByCell bool `json:",omitempty"`
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
	// Retries and MaxErrors of requests; MaxLag is how late the client may be, 0
	// where that is left to the kind of engine, and MinReached the share of
	// Concurrency that the engine must reach.
	Retries, MaxErrors int
	MaxLag             time.Duration
	MinReached         float64

	Range Range `json:"-"`
}

var workloadDoc = &BlockDoc{
	Type: "workload", Times: AnyTimes, Repeats: true,
	Labels: []Label{{Name: "name", Doc: "What references and rules call it: `workload.<name>`, `<name>.tg.gain`."}},
	Doc:    "What is sent. Each combination of lists is a cell, whose address has an element for each dimension that is a list: `p512` prompt, `o32` output, `d4096` depth, `c16` concurrency, `r2_5` rate (2.5 requests a second), in this order, as in `chat.o32.c16.tg`. Prompts are unique from their first token on, so that prefix caches miss, and the same for all arms.",
	Attrs: slices.Concat(
		[]Attr{{Name: "summary", Type: String, Doc: "What it stands for, in one sentence."}},
		lengthAttrs, paceAttrs, promptAttrs, samplingAttrs, judgingAttrs,
	),
	Blocks: []*BlockDoc{promptLengthsDoc, outputLengthsDoc, datasetDoc, sloDoc},
	Example: `workload "chat" {
  prompt_tokens = 2048
  output_tokens = [32, 128]
  requests      = 10
  warmup        = 3
}`,
}

var workloadSchema = workloadDoc.schema()

func (l *loader) decodeWorkload(b *hcl.Block) {
	f := l.fields(b, workloadSchema, fmt.Sprintf("workload %q", b.Labels[0]))
	w := &Workload{Name: b.Labels[0], Summary: f.text("summary", ""), Range: rangeOf(b.DefRange)}
	before := len(l.diags)
	w.decodePrompts(l, f)
	w.decodeLengths(f)
	w.decodePace(f)
	w.decodeSampling(f)
	w.decodeJudging(f)
	w.boundCells(l, f)
	w.countRequests(f)
	if len(l.diags) == before {
		w.checkWorkload(f) // what is wrong by itself would be called a contradiction
	}
	if l.first(b) {
		l.plan.Workloads = append(l.plan.Workloads, w)
	}
}
