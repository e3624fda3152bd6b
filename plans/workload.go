package plans

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Workload is what is sent. Each combination of its list-valued dimensions is
// a Cell.
type Workload struct {
	Name    string
	Summary string
	// PromptTokens and OutputTokens hold one value, or several if the plan gave a list.
	PromptTokens []int
	OutputTokens []int
	// PromptList and OutputList are set if the plan wrote a list: the dimension is then
	// part of the cells' addresses even with one element.
	PromptList, OutputList bool
	// Requests are measured, Warmup requests go before them, per cell and launch; with
	// Requests are measured, Warmup requests go before them, per cell and launch; with
	// Turns they are conversations. RequestsByCell and WarmupByCell are set if the plan
	// gives no number and not all cells get these: each Cell has its own numbers.
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
	// OutputTokens, which are then empty.
	PromptLengths, OutputLengths *Lengths
	// Depth is tokens of context before each prompt; it always has a value, 0 if the plan
	// gives none. DepthCached puts the context into the prefix cache first.
	Depth       []int
	DepthList   bool
	DepthCached bool
	// Concurrency always has a value in a closed loop, 1 if the plan gives none, and is
	// empty in an open loop, which Rate (requests per second) makes.
	Concurrency     []int
	ConcurrencyList bool
	Rate            []float64
	RateList        bool
	// Arrival is "constant" or "poisson", empty in a closed loop; MaxConcurrency
	// the cap of an open loop.
	Arrival        string
	MaxConcurrency int
	// Duration ends sending even before all Requests are sent; 0 is no limit.
	Duration time.Duration
	// Turns of each conversation, at least 1, and the length of the system prompt
	// that all of a cell share, 0 for none.
	Turns, SystemTokens int
	// Prompts is "text" or "random" (token ids); Data is read in their place.
	Prompts string
	Data    *Dataset
	// CountTemplate means that prompt lengths include the chat template.
	CountTemplate bool
	// Sampling; 0 sends none.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// SLO are the limits of a good request by metric: "ttft", "tpot", "itl", "e2e".
	SLO map[string]time.Duration
	// LatencyCorrection is "none", "api" or "generation".
	LatencyCorrection string
	// SameTexts means that the arms of a round are sent the same texts after different
	// beginnings.
	SameTexts bool `json:",omitempty"`
	// Coherence is "absolute", "baseline" or "off": how answers are checked.
	Coherence string
	// Retries and MaxErrors are of requests; MaxLag is how late the client may be, 0 if
	// the kind of engine decides.
	Retries, MaxErrors int
	MaxLag             time.Duration

	Range Range `json:"-"`
}

// Open reports whether requests are sent by the clock.
func (w *Workload) Open() bool { return w.Arrival != "" }

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
	// DataRows are what the file holds, which its digest covers.
	DataRows `json:"-"`
}

// DataRows are what a plan must know about a file of prompts.
type DataRows struct {
	Count int
	// Unanswered and Chat are line numbers, from 1, or 0 for none: the first row that
	// does not say how long its answer is, and the first that can only be sent as a chat.
	Unanswered, Chat int
}

// Objectives are the metrics whose limits can make a request a good one.
var Objectives = []string{"ttft", "tpot", "itl", "e2e"}

// NewWorkload is a workload with everything at its default and nothing to send, for
// callers without a plan.
func NewWorkload(name string) *Workload {
	return &Workload{
		Name: name, Requests: 10, Warmup: 3, API: "completions", Seed: 42, IgnoreEOS: true,
		RequestTimeout: 2 * time.Minute, FirstTimeout: 10 * time.Minute, StallTimeout: 30 * time.Second,
		Depth: []int{0}, Concurrency: []int{1}, Turns: 1, Prompts: "text", CountTemplate: true,
		LatencyCorrection: "none", Coherence: "baseline",
	}
}

// MaxTokens is the longest prompt that the client makes (engine/load/prompt: mostInOne),
// a bound that no engine of this decade reaches and that keeps every product of bounds
// within an int.
const MaxTokens = 20_000_000

const (
	// MaxRequests and MaxConcurrency are far above what one client sends; MaxRate and
	// MinRate are requests per second.
	MaxRequests    = 1_000_000
	MaxConcurrency = 100_000
	MaxRate        = 100_000
	MinRate        = 0.001
	// MaxCells is how many cells a workload may have.
	MaxCells = 1024
)

// Cell is one combination of a workload's dimensions: what is sent, measured
// and addressed as one thing.
type Cell struct {
	Workload string
	// Prompt, Output and Depth are tokens; 0 if the length is drawn.
	Prompt, Output, Depth int
	// Concurrency is how many requests a closed loop keeps in flight, at least 1; in an
	// open loop it is the cap, 0 for none. Rate is an open loop's requests per second, 0
	// in a closed loop.
	Concurrency int
	Rate        float64
	// Requests are measured, Warmup requests go before them. With a duration,
	// Requests is the upper bound.
	Requests, Warmup int
	// Address is how rules name it: the workload, then one element for each
	// dimension that the plan wrote as a list, in the order prompt, output, depth,
	// concurrency, rate: "chat", "chat.o32", "chat.p512.o32.d4096.c16". A rate of
	// 2.5 is the element "r2_5": a dot would end it.
	Address string
	// Label is how the field names its speeds: "pp2048 tg32 @ d4096, c16".
	Label string
}

// Cells are the combinations in the order in which the plan writes them, the
// last dimension varying fastest.
func (w *Workload) Cells() []Cell {
	var cells []Cell
	concurrency := w.Concurrency
	if w.Open() {
		concurrency = []int{w.MaxConcurrency}
	}
	for _, p := range orOne(w.PromptTokens) {
		for _, o := range orOne(w.OutputTokens) {
			for _, d := range orOne(w.Depth) {
				for _, c := range orOne(concurrency) {
					for _, r := range orOne(w.Rate) {
						cells = append(cells, w.cell(p, o, d, c, r))
					}
				}
			}
		}
	}
	return cells
}

// orOne is a dimension's values, or a single zero for one that is drawn or absent.
func orOne[T any](values []T) []T {
	if len(values) == 0 {
		return make([]T, 1)
	}
	return values
}

func (w *Workload) cell(p, o, d, c int, r float64) Cell {
	if !w.Open() {
		c = max(1, c)
	}
	address := w.Name
	element := func(list bool, letter, value string) {
		if list {
			address += "." + letter + value
		}
	}
	element(w.PromptList, "p", strconv.Itoa(p))
	element(w.OutputList, "o", strconv.Itoa(o))
	element(w.DepthList, "d", strconv.Itoa(d))
	element(w.ConcurrencyList && !w.Open(), "c", strconv.Itoa(c))
	element(w.RateList, "r", rateElement(r))
	return Cell{
		Workload: w.Name, Prompt: p, Output: o, Depth: d, Concurrency: c, Rate: r,
		Requests: w.requestsOf(c, r), Warmup: w.warmupOf(c), Address: address, Label: w.label(p, o, d, c, r),
	}
}

// rateElement is a rate in an address.
func rateElement(r float64) string {
	return strings.ReplaceAll(strconv.FormatFloat(r, 'f', -1, 64), ".", "_")
}

// label names a cell as the field does. Anything at its usual value in all cells is left
// out.
func (w *Workload) label(p, o, d, c int, r float64) string {
	text := lengthLabel("pp", p, w.PromptLengths) + " " + lengthLabel("tg", o, w.OutputLengths)
	if d > 0 {
		text += fmt.Sprintf(" @ d%d", d)
	}
	switch {
	case r > 0:
		text += fmt.Sprintf(", %g req/s", r)
	case c > 1 || len(w.Concurrency) > 1:
		text += fmt.Sprintf(", c%d", c)
	}
	return text
}

// lengthLabel is "pp512", "pp~512" if lengths are drawn with that mean, and "pp*" if they
// come from a file.
func lengthLabel(what string, tokens int, drawn *Lengths) string {
	switch {
	case tokens > 0:
		return what + strconv.Itoa(tokens)
	case drawn == nil:
		return what + "*"
	}
	mean := drawn.Mean
	if drawn.Distribution == "uniform" {
		mean = float64(drawn.Min+drawn.Max) / 2
	}
	return what + "~" + strconv.FormatFloat(mean, 'f', -1, 64)
}

// requestsOf is how many requests of a cell are measured; with a duration, at most.
func (w *Workload) requestsOf(concurrency int, rate float64) int {
	if !w.RequestsByCell {
		return w.Requests
	}
	seconds, n := w.Duration.Seconds(), 0.0
	switch {
	case w.Open() && seconds > 0:
		n = arrivals(rate * seconds)
	case w.Open():
		n = math.Ceil(rate * 60)
	case seconds > 0:
		n = 200 * float64(concurrency)
	default:
		n = 4 * float64(concurrency)
	}
	most := MaxRequests
	if w.Data != nil && w.Data.Count > 0 {
		most = max(1, w.Data.Count-w.warmupOf(concurrency))
	}
	return int(min(max(n, float64(w.Requests)), float64(most)))
}

// arrivals is a number of requests that hardly any run exceeds when so many are expected:
// six standard deviations of a Poisson process above that.
func arrivals(expected float64) float64 {
	return math.Ceil(expected + 6*math.Sqrt(expected) + 6)
}

func (w *Workload) warmupOf(concurrency int) int {
	if !w.WarmupByCell {
		return w.Warmup
	}
	if w.Open() {
		concurrency = 0 // a cap is not reached by warming up
	}
	return max(w.Warmup, concurrency)
}

// MostOutput is the longest answer that a cell asks for.
func (w *Workload) MostOutput(cell Cell) int {
	switch {
	case cell.Output > 0 && w.Data == nil:
		return cell.Output
	case w.OutputLengths != nil:
		return w.OutputLengths.Max
	}
	return MaxTokens // as each line of the file says
}

// Longest is the most tokens of one request with its answer; 0 if a file decides.
func (w *Workload) Longest(cell Cell) int {
	if w.Data != nil {
		return 0
	}
	prompt, output := cell.Prompt, cell.Output
	if w.PromptLengths != nil {
		prompt = w.PromptLengths.Max
	}
	if w.OutputLengths != nil {
		output = w.OutputLengths.Max
	}
	return cell.Depth + w.SystemTokens + max(1, w.Turns)*(prompt+output)
}
