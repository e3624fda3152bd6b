package plans

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/load/traffic"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/capacity"
)

// Workload describes the requests that are sent. Each combination of its list-valued
// dimensions is a Cell. Fields reads the tags of the structs in this package.
type Workload struct {
	Name    string `hcl:"name,label" doc:"Its name in references and rules: 'workload.<name>', '<name>.tg.gain'."`
	Summary string `hcl:"summary,optional" doc:"The traffic that it represents, in one sentence."`
	// A dimension that the plan wrote as a list is part of the cells' addresses even with
	// one element: its List is set.
	PromptTokens []int `hcl:"prompt_tokens,optional" group:"length" unit:"tokens" min:"1" max:"20000000" excludes:"prompt_lengths|dataset|trace" unless:"prompt_lengths|dataset|trace" needs:"how many tokens each prompt has, such as 2048." filled:"true" unique:"true" doc:"Length of each prompt, or several lengths. Required unless 'prompt_lengths', 'dataset' or 'trace' is given."`
	OutputTokens []int `hcl:"output_tokens,optional" group:"length" unit:"tokens" min:"1" max:"20000000" excludes:"output_lengths" unless:"output_lengths|dataset|trace" needs:"how many tokens are generated for each request, such as 32." filled:"true" unique:"true" doc:"Length of each answer, or several lengths. Required unless 'output_lengths' is given; with a 'dataset' or a 'trace', the length for lines that give none."`
	PromptList   bool
	OutputList   bool
	Requests     int `hcl:"requests,optional" group:"pace" default:"10" unit:"requests" min:"1" max:"1000000" excludes:"trace|capacity" doc:"Measured requests per cell and launch; with 'turns', conversations. Without it, at least 4 for each in flight; in an open loop, one minute's worth at the rate. With a 'duration' it is the upper bound."`
	Warmup       int `hcl:"warmup,optional" group:"pace" default:"3" unit:"requests" min:"0" max:"1000000" excludes:"capacity" doc:"Unmeasured requests before them. Without it, at least one for each in flight."`
	// RequestsByCell and WarmupByCell are set if the plan gives no number and not all cells
	// get these: each Cell has its own numbers.
	RequestsByCell, WarmupByCell bool          `json:",omitempty"`
	API                          string        `hcl:"api,optional" group:"prompt" oneof:"completions|chat" default:"completions" doc:"The endpoint."`
	Temperature                  float64       `hcl:"temperature,optional" group:"sampling" default:"0" min:"0" max:"100" doc:"Sampling temperature; 0 takes the likeliest token."`
	Seed                         int           `hcl:"seed,optional" group:"sampling" default:"42" min:"0" max:"2147483647" doc:"Seed of prompts, lengths, arrivals and sampling."`
	IgnoreEOS                    bool          `hcl:"ignore_eos,optional" group:"sampling" default:"true" doc:"Continues past the end of text, to enforce answer lengths."`
	RequestTimeout               time.Duration `hcl:"request_timeout,optional" group:"judging" default:"2m" doc:"Time limit of one request."`
	FirstTimeout                 time.Duration `hcl:"first_timeout,optional" group:"judging" default:"10m" doc:"Time limit of a launch's first token. The first request after a start can compile kernels."`
	StallTimeout                 time.Duration `hcl:"stall_timeout,optional" group:"judging" default:"30s" doc:"Maximum wait between two events of a stream. It counts from the first token on."`

	// PromptLengths and OutputLengths draw lengths in place of PromptTokens and
	// OutputTokens, which are then empty.
	PromptLengths, OutputLengths *Lengths
	Depth                        []int `hcl:"depth,optional" group:"length" default:"0" unit:"tokens" min:"0" max:"20000000" excludes:"dataset|trace" filled:"true" unique:"true" doc:"Context before each prompt, or several lengths. It is not counted as prompt."`
	DepthList                    bool
	DepthCached                  bool `hcl:"depth_cached,optional" group:"length" default:"false" requires:"depth" doc:"Sends the context first, to fill the prefix cache. The engine then computes only the prompt."`
	// Concurrency is empty in an open loop, which Rate makes.
	Concurrency     []int `hcl:"concurrency,optional" group:"pace" default:"1" unit:"requests" min:"1" max:"100000" excludes:"rate|arrival|trace|capacity" filled:"true" unique:"true" doc:"Requests kept in flight (closed loop). Each answer makes room for the next request. A list makes one cell per value."`
	ConcurrencyList bool
	Rate            []float64 `hcl:"rate,optional" group:"pace" unit:"requests per second" min:"0.001" max:"100000" excludes:"trace|capacity" filled:"true" unique:"true" doc:"Sends on schedule (open loop). Latencies count from the scheduled send time, however slow the answers. Instead of 'concurrency'."`
	RateList        bool
	// Arrival is empty in a closed loop.
	Arrival        string        `hcl:"arrival,optional" group:"pace" oneof:"poisson|constant" excludes:"capacity" requires:"rate" doc:"How requests of an open loop arrive. With a rate, poisson by default: like many independent users."`
	MaxConcurrency int           `hcl:"max_concurrency,optional" group:"pace" unit:"requests" min:"1" max:"100000" requires:"rate" doc:"Maximum requests in flight in an open loop. Further ones wait, and their latency counts. Without it there is no limit."`
	Duration       time.Duration `hcl:"duration,optional" group:"pace" excludes:"capacity" doc:"Stops sending after this time. Requests in flight are still answered and measured. With a 'trace', how much of it is sent, in its own time."`
	// TraceFile is as the plan names it, and Trace what is sent of it.
	TraceFile       string        `json:"-" hcl:"trace,optional" group:"pace" excludes:"prompt_lengths|output_lengths|dataset|capacity" doc:"File of recorded traffic, relative to the plan's folder. Arrivals, lengths, shared beginnings and turns are as in it. Instead of 'rate' and 'concurrency'."`
	JQ              string        `json:",omitempty" hcl:"trace_jq,optional" group:"pace" requires:"trace" doc:"jq program that makes a request of each row. An example is '{at: .time_s, prompt: .tokens_in, output: .tokens_out}'. Without it the format is recognised."`
	Speed           float64       `json:",omitempty" hcl:"speed,optional" group:"pace" requires:"trace" min:"0.001" max:"1000" doc:"How many times faster than recorded the trace is sent. Without it, 1."`
	From            time.Duration `json:",omitempty" hcl:"from,optional" group:"pace" requires:"trace" doc:"Leaves out what arrived earlier in the trace."`
	MaxPromptTokens int           `json:",omitempty" hcl:"max_prompt_tokens,optional" group:"length" unit:"tokens" requires:"trace" min:"1" max:"20000000" doc:"Cuts longer prompts of the trace to this length. They keep their beginning, and with it what they share."`
	Trace           *Trace        `json:",omitempty"`
	Turns           int           `hcl:"turns,optional" group:"prompt" default:"1" min:"1" max:"1000" requires:"api=chat" excludes:"trace" doc:"Turns of each conversation (chat only). Each sends the earlier ones too. With a 'dataset', the maximum number of turns sent per conversation."`
	SystemTokens    int           `hcl:"system_tokens,optional" group:"prompt" default:"0" unit:"tokens" min:"0" max:"20000000" excludes:"dataset|trace" requires:"api=chat" doc:"System prompt that a cell's requests share (chat only). Prefix caches can hold it."`
	// Data has the prompts.
	Data              *Dataset
	CountTemplate     bool    `hcl:"count_template,optional" group:"length" default:"true" requires:"api=chat" doc:"Prompt lengths include the tokens that a chat template adds."`
	TopP              float64 `hcl:"top_p,optional" group:"sampling" default:"0" min:"0" max:"1" doc:"Samples from the likeliest tokens with this total probability. It is not sent if 0."`
	MinP              float64 `hcl:"min_p,optional" group:"sampling" default:"0" min:"0" max:"1" doc:"Samples from tokens above this share of the top probability. It is not sent if 0."`
	RepetitionPenalty float64 `hcl:"repetition_penalty,optional" group:"sampling" default:"0" min:"0" max:"10" doc:"Divides the score of tokens that came before. With 1 it changes nothing; it is not sent if 0."`
	TopK              int     `hcl:"top_k,optional" group:"sampling" default:"0" unit:"tokens" min:"0" max:"10000000" doc:"Samples from this many of the likeliest tokens. It is not sent if 0."`
	// SLO are the limits of a good request by metric: "ttft", "tpot", "itl", "e2e".
	SLO map[string]time.Duration
	// Capacity is set if each launch searches for the largest rate that keeps SLO, at which
	// the loop is open and has no Rate.
	Capacity  *Capacity `json:",omitempty"`
	SameTexts bool      `json:",omitempty" hcl:"same_texts,optional" group:"sampling" default:"false" doc:"Sends all arms of a round the same texts. Each comes after a unique prefix. It is for features that depend on the text, such as speculation. An engine that caches texts across launches can benefit from it. Without it, every launch has its own texts."`
	Coherence string    `hcl:"coherence,optional" group:"judging" oneof:"baseline|absolute|off" doc:"How answers are checked, so that garbage cannot win. 'absolute' checks each answer, 'baseline' requires them to be no worse than the parent's. Without it, baseline if 'ignore_eos' forces lengths, absolute if answers end on their own."`
	Retries   int       `hcl:"retries,optional" group:"judging" default:"0" min:"0" max:"100" doc:"Retries of a request that the engine defers. It defers with status 429 or 503 and Retry-After. The time counts."`
	MaxErrors int       `hcl:"max_errors,optional" group:"judging" default:"0" excludes:"capacity" unit:"requests" min:"0" max:"1000000" doc:"Measured requests of a cell that can fail. With more, the launch fails."`
	// MaxLag is 0 if the kind of engine decides.
	MaxLag time.Duration `hcl:"max_lag,optional" group:"judging" doc:"Limit on the client's lateness, beyond which measurements are invalid. It holds for the 99th percentiles of sending and waking. Without it, 10ms; 100ms for the embedded engine, which shares the client's CPUs."`

	Range Range `json:"-"`
}

// Recorded is the arrival of a trace.
const Recorded = "recorded"

// Open reports whether requests are sent by the clock.
func (w *Workload) Open() bool { return w.Arrival != "" }

// Capacity is how a launch searches for the largest rate that keeps a workload's SLO.
type Capacity struct {
	Percentile float64       `hcl:"percentile,optional" default:"99" min:"50" max:"99.9" doc:"Percentage of requests that must be within each limit. With 99, the p99 keeps it. Failed requests are within none."`
	Errors     float64       `hcl:"errors,optional" default:"0" min:"0" max:"0.5" doc:"Share of the requests that may fail. Without it, 'percentile' decides."`
	Probe      time.Duration `hcl:"probe,optional" default:"1m" doc:"How long each rate is measured. At the capacity it should send 400 requests: see [statistics](statistics.md#capacity)."`
	Warmup     time.Duration `hcl:"warmup,optional" default:"15s" doc:"How long each rate is sent before it is measured."`
	Drain      time.Duration `hcl:"drain,optional" default:"30s" doc:"How long answers may take after the last request. Those in flight then have failed. It must be longer than an answer."`
	Probes     int           `hcl:"probes,optional" default:"10" min:"6" max:"100" doc:"Rates that a launch measures. A search that begins far from the capacity measures up to twice as many."`
	Start      float64       `hcl:"start,optional" default:"1" unit:"requests per second" min:"0.001" max:"100000" doc:"First rate of the first launch. Later ones begin where the last one ended."`
	MaxRate    float64       `hcl:"max_rate,optional" default:"1000" unit:"requests per second" min:"0.001" max:"100000" doc:"Highest rate that is sent. A capacity beyond it is unknown."`
}

// Search is how capacity.Search finds it, from a rate that was found before, or 0. It goes down to a
// quarter of where a probe sends few requests, or of where it begins.
func (c *Capacity) Search(before float64) capacity.Options {
	start := min(cmp.Or(before, c.Start), c.MaxRate)
	return capacity.Options{
		Start: start, Least: min(start, capacity.Chance/c.Probe.Seconds()) / 4, Most: c.MaxRate, Probes: c.Probes,
	}
}

// Longest is how long the probes of a launch take at most.
func (c *Capacity) Longest() time.Duration {
	return time.Duration(capacity.MostProbes(c.Probes)) * (c.Warmup + c.Probe + c.Drain)
}

// Usual is how long the usual number of probes takes if all of them drain at once.
func (c *Capacity) Usual() time.Duration { return time.Duration(c.Probes) * (c.Warmup + c.Probe) }

// Probe is a cell at one rate: the n-th of a search, from 1, with so many requests.
func (c Cell) Probe(n int, rate float64, warmup, requests int) Cell {
	c.Address += probeElement + strconv.Itoa(n)
	c.Rate, c.Warmup, c.Requests = rate, warmup, requests
	c.Label += fmt.Sprintf(", %.3g req/s", rate)
	return c
}

const probeElement = ".probe"

// Holds reports whether an address is the cell's, or that of one of its probes.
func (c Cell) Holds(address string) bool {
	return address == c.Address || strings.HasPrefix(address, c.Address+probeElement)
}

// Lengths draws a number of tokens for each request.
type Lengths struct {
	Distribution string  `hcl:"distribution" oneof:"uniform|normal|lognormal" needs:"one of \"uniform\", \"normal\" and \"lognormal\"." doc:"The form of the distribution. Uniform is any length from 'min' to 'max'; the others have a 'mean' and an 'std'."`
	Min          int     `hcl:"min,optional" unit:"tokens" min:"1" max:"20000000" unless:"distribution=normal|distribution=lognormal" doc:"Minimum length. Uniform needs it; otherwise the default is 1."`
	Max          int     `hcl:"max,optional" unit:"tokens" min:"1" max:"20000000" unless:"distribution=normal|distribution=lognormal" doc:"Maximum length. Uniform needs it; otherwise the default is four times 'std' above 'mean'."`
	Mean         float64 `hcl:"mean,optional" unit:"tokens" min:"1" max:"20000000" excludes:"distribution=uniform" unless:"distribution=uniform" doc:"Mean of the lengths, for normal and lognormal."`
	Std          float64 `hcl:"std,optional" unit:"tokens" min:"0" max:"20000000" excludes:"distribution=uniform" unless:"distribution=uniform" doc:"Their standard deviation. For lognormal too, it is that of the lengths, not of their logarithms."`
}

type Dataset struct {
	// File is absolute; Digest is the SHA-256 of its content, in hexadecimal.
	File   string `json:"-" hcl:"file" needs:"the path of a prompt file, one JSON object per line." doc:"File of JSON Lines, relative to the plan's folder. Each row is an object. A row has a 'prompt', 'messages' or 'conversations'. 'output_tokens' is the length of the answer."`
	Digest string
	// DataRows are what the file holds, which its digest covers.
	DataRows `json:"-"`
}

// Trace is recorded traffic.
type Trace struct {
	// File is absolute; Digest is the SHA-256 of its content, in hexadecimal.
	File   string `json:"-"`
	Digest string
	// Format is the tool that wrote it, Skipped how many rows are no requests, by why, and Sent what is sent of it, nil
	// if it cannot be read.
	Format  string         `json:"-"`
	Skipped map[string]int `json:"-"`
	Sent    *traffic.Part  `json:"-"`
}

// Record makes a workload one of a trace: of the part of a file with this digest that its attributes select.
func (w *Workload) Record(file string, data []byte, digest string) error {
	w.Arrival, w.Trace = Recorded, &Trace{File: file, Digest: digest}
	defer debug.SetGCPercent(debug.SetGCPercent(40)) // rows leave much garbage: a third less memory, a tenth more time
	all, err := traffic.Read(filepath.Base(file), data, w.JQ)
	if err != nil {
		return err
	}
	w.Trace.Format, w.Trace.Skipped = all.Format, all.Skipped
	w.Trace.Sent, err = all.Part(traffic.Select{
		From: w.From, Duration: w.Duration, Speed: w.Speed, MaxPrompt: w.MaxPromptTokens,
	})
	return err
}

// Recorded describes the traffic that a workload is sent; nil if it has no trace.
func (w *Workload) Recorded() *measure.TraceRun {
	if w.Trace == nil || w.Trace.Sent == nil {
		return nil
	}
	t := w.Trace.Sent
	return &measure.TraceRun{
		File: filepath.Base(w.Trace.File), Format: w.Trace.Format, Speed: cmp.Or(w.Speed, 1), Requests: t.Requests,
		Conversations: len(t.Conversations), Texts: t.Texts, Seconds: t.Length.Seconds(), PromptTokens: t.Prompt,
		SharedTokens: t.Shared, Cut: t.Cut, CutTo: w.MaxPromptTokens, CutTokens: t.CutTokens,
		Skipped: w.Trace.Skipped,
	}
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
	w := &Workload{}
	fill(w)
	w.Name, w.Coherence = name, "baseline"
	return w
}

// StallTimeout is how long an answer that is not measured may pause: the longest that a
// workload of the plan allows, or what one allows by default.
func (p *Plan) StallTimeout() time.Duration {
	longest := time.Duration(0)
	for _, w := range p.Workloads {
		longest = max(longest, w.StallTimeout)
	}
	return cmp.Or(longest, NewWorkload("").StallTimeout)
}

// MaxTokens is the longest prompt that the client makes (engine/load/prompt: mostInOne),
// a bound that no engine of this decade reaches and that keeps every product of bounds
// within an int.
const MaxTokens = 20_000_000

const (
	// maxRequests and maxConcurrency are far above what one client sends; maxRate and
	// minRate are requests per second.
	maxRequests    = 1_000_000
	maxConcurrency = 100_000
	maxRate        = 100_000
	minRate        = 0.001
	// MaxCells is how many cells a workload may have.
	MaxCells = 1024
)

// Cell is one combination of a workload's dimensions: what is sent, measured
// and addressed as one thing.
type Cell struct {
	Workload string
	measure.Dimensions
	// Requests are measured, Warmup requests go before them. With a duration,
	// Requests is the upper bound.
	Requests, Warmup int
	// Seed is that of a probe's arrivals and lengths; 0 is the workload's.
	Seed int64 `json:",omitempty"`
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
					if !w.Open() {
						c = max(1, c)
					}
					for _, r := range orOne(w.Rate) {
						cells = append(cells,
							w.cell(measure.Dimensions{Prompt: p, Output: o, Depth: d, Concurrency: c, Rate: r}))
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

func (w *Workload) cell(d measure.Dimensions) Cell {
	address := w.Name
	element := func(list bool, letter, value string) {
		if list {
			address += "." + letter + value
		}
	}
	element(w.PromptList, "p", strconv.Itoa(d.Prompt))
	element(w.OutputList, "o", strconv.Itoa(d.Output))
	element(w.DepthList, "d", strconv.Itoa(d.Depth))
	element(w.ConcurrencyList && !w.Open(), "c", strconv.Itoa(d.Concurrency))
	element(w.RateList, "r", strings.ReplaceAll(strconv.FormatFloat(d.Rate, 'f', -1, 64), ".", "_"))
	return Cell{
		Workload: w.Name, Dimensions: d, Requests: w.requestsOf(d.Concurrency, d.Rate),
		Warmup:  w.warmupOf(d.Concurrency),
		Address: address, Label: w.label(d),
	}
}

// label names a cell as the field does. Anything at its usual value in all cells is left
// out.
func (w *Workload) label(d measure.Dimensions) string {
	if w.Trace != nil && w.Trace.Sent != nil {
		n := max(1, w.Trace.Sent.Requests-w.Trace.Sent.Texts)
		return fmt.Sprintf("pp~%d tg~%d, %s", w.Trace.Sent.Prompt/n, w.Trace.Sent.Output/w.Trace.Sent.Requests,
			filepath.Base(w.Trace.File))
	}
	text := lengthLabel("pp", d.Prompt, w.PromptLengths) + " " + lengthLabel("tg", d.Output, w.OutputLengths)
	if d.Depth > 0 {
		text += fmt.Sprintf(" @ d%d", d.Depth)
	}
	switch {
	case d.Rate > 0:
		text += fmt.Sprintf(", %g req/s", d.Rate)
	case d.Concurrency > 1 || len(w.Concurrency) > 1:
		text += fmt.Sprintf(", c%d", d.Concurrency)
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
	if w.Trace != nil && w.Trace.Sent != nil {
		return len(w.Trace.Sent.Conversations)
	}
	if !w.RequestsByCell {
		return w.Requests
	}
	seconds, n := w.Duration.Seconds(), 0.0
	switch {
	case w.Open() && seconds > 0:
		// Six standard deviations of a Poisson process above the expected number: hardly any
		// run exceeds it.
		n = math.Ceil(rate*seconds + 6*math.Sqrt(rate*seconds) + 6)
	case w.Open():
		n = math.Ceil(rate * 60)
	case seconds > 0:
		n = 200 * float64(concurrency)
	default:
		n = 4 * float64(concurrency)
	}
	most := maxRequests
	if w.Data != nil && w.Data.Count > 0 {
		most = max(1, w.Data.Count-w.warmupOf(concurrency))
	}
	return int(min(max(n, float64(w.Requests)), float64(most)))
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

// Longest is the most tokens of one request with its answer; 0 if that is unknown.
func (w *Workload) Longest(cell Cell) int {
	if w.Trace != nil && w.Trace.Sent != nil {
		return w.Trace.Sent.Longest
	}
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
