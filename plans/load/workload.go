package load

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var workloadDoc = &lang.BlockDoc{
	Type: "workload", Times: plans.AnyTimes, Repeats: true,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in references and rules: `workload.<name>`, `<name>.tg.gain`."}},
	Doc:    "What is sent. Each combination of lists is a cell, whose address has an element per list: `p512` prompt, `o32` output, `d4096` depth, `c16` concurrency, `r2_5` rate, in this order. Prompts start with a unique prefix, so prefix caches miss, and are the same for all arms.",
	Attrs: slices.Concat(
		[]plans.Attr{{Name: "summary", Type: plans.String, Doc: "What it represents, in one sentence."}},
		lengthAttrs, paceAttrs, promptAttrs, samplingAttrs, judgingAttrs,
	),
	Blocks: []*lang.BlockDoc{promptLengthsDoc, outputLengthsDoc, datasetDoc, sloDoc},
	Example: `workload "chat" {
  prompt_tokens = 2048
  output_tokens = [32, 128]
  requests      = 10
  warmup        = 3
}`,
}

func (l *loader) decodeWorkload(b *hcl.Block) {
	f := l.Fields(b, workloadDoc)
	w := &plans.Workload{Name: b.Labels[0], Summary: f.Text("summary"), Range: lang.RangeOf(b.DefRange)}
	before := len(l.Diags)
	w.API, w.Prompts, w.Turns, w.SystemTokens = f.Text("api"), f.Text("prompts"), f.Whole("turns"), f.Whole("system_tokens")
	w.Data = l.dataset(f)
	decodeLengths(w, f)
	decodePace(w, f)
	w.Temperature, w.TopP, w.MinP = f.Number("temperature"), f.Number("top_p"), f.Number("min_p")
	w.RepetitionPenalty, w.TopK, w.Seed = f.Number("repetition_penalty"), f.Whole("top_k"), f.Whole("seed")
	w.SameTexts, w.IgnoreEOS = f.Truth("same_texts"), f.Truth("ignore_eos")
	decodeJudging(w, f)
	boundCells(w, f)
	countRequests(w, f)
	if len(l.Diags) == before {
		checkWorkload(w, f) // a mistake in a single attribute would be called a contradiction
	}
	if l.First(b) {
		l.plan.Workloads = append(l.plan.Workloads, w)
	}
}

var promptAttrs = []plans.Attr{
	{Name: "api", Type: plans.String, Default: "completions", OneOf: []string{"completions", "chat"}, Doc: "The endpoint."},
	{Name: "prompts", Type: plans.String, Default: "text", OneOf: []string{"text", "random"}, Doc: "What prompts consist of: English sentences drawn word by word, or random token ids, which only completions take."},
	{Name: "turns", Type: plans.Int, Default: 1.0, Min: 1, MinSet: true, Max: maxTurns, Doc: "Turns of each conversation (chat only): each sends the earlier ones too. With a `dataset`, the maximum number of turns sent per conversation."},
	{Name: "system_tokens", Type: plans.Int, Default: 0.0, Unit: "tokens", MinSet: true, Max: plans.MaxTokens, Doc: "Length of a system prompt that all requests of a cell share (chat only). Prefix caches can hold it."},
}

const maxTurns = 1000

var lengthAttrs = []plans.Attr{
	{Name: "prompt_tokens", Type: plans.Ints, Unit: "tokens", Min: 1, MinSet: true, Max: plans.MaxTokens, Doc: "Length of each prompt, or several lengths. Required unless `prompt_lengths` or `dataset` is given."},
	{Name: "output_tokens", Type: plans.Ints, Unit: "tokens", Min: 1, MinSet: true, Max: plans.MaxTokens, Doc: "Length of each answer, or several lengths. Required unless `output_lengths` is given; with a `dataset`, the length for lines that give none."},
	{Name: "depth", Type: plans.Ints, Default: 0.0, Unit: "tokens", MinSet: true, Max: plans.MaxTokens, Doc: "Context before each prompt, or several lengths. It is not counted as prompt."},
	{Name: "depth_cached", Type: plans.Bool, Default: false, Doc: "Send only the context first, so the engine has it in its prefix cache and computes only the prompt."},
	{Name: "count_template", Type: plans.Bool, Default: true, Doc: "Prompt lengths include the tokens that a chat template adds."},
}

var (
	promptLengthsDoc = lengthsDoc("prompt_lengths", "Draws the length of each prompt, instead of `prompt_tokens`.")
	outputLengthsDoc = lengthsDoc("output_lengths", "Draws the length of each answer, instead of `output_tokens`.")
)

func lengthsDoc(word, doc string) *lang.BlockDoc {
	return &lang.BlockDoc{
		Type: word, Times: plans.AtMost1, Doc: doc + " All arms get the same lengths.",
		Attrs: []plans.Attr{
			{Name: "distribution", Type: plans.String, Required: true, OneOf: []string{"uniform", "normal", "lognormal"}, Doc: "Uniform is any length from `min` to `max`; the others have a `mean` and an `std`."},
			{Name: "min", Type: plans.Int, Unit: "tokens", Min: 1, MinSet: true, Max: plans.MaxTokens, Doc: "Minimum length. Uniform needs it; otherwise the default is 1."},
			{Name: "max", Type: plans.Int, Unit: "tokens", Min: 1, MinSet: true, Max: plans.MaxTokens, Doc: "Maximum length. Uniform needs it; otherwise the default is four times `std` above `mean`."},
			{Name: "mean", Type: plans.Number, Unit: "tokens", Min: 1, MinSet: true, Max: plans.MaxTokens, Doc: "Mean of the lengths, for normal and lognormal."},
			{Name: "std", Type: plans.Number, Unit: "tokens", MinSet: true, Max: plans.MaxTokens, Doc: "Their standard deviation; for lognormal too, that of the lengths, not of their logarithms."},
		},
		Example: word + ` {
  distribution = "lognormal"
  mean         = 512
  std          = 300
  max          = 4096
}`,
	}
}

func decodeLengths(w *plans.Workload, f *eval.Body) {
	w.PromptTokens, w.PromptList = f.Wholes("prompt_tokens")
	w.OutputTokens, w.OutputList = f.Wholes("output_tokens")
	w.PromptLengths, w.OutputLengths = lengths(f, "prompt_lengths"), lengths(f, "output_lengths")
	w.Depth, w.DepthList = f.Wholes("depth")
	if len(w.Depth) == 0 {
		w.Depth, w.DepthList = []int{0}, false
	}
	w.DepthCached = f.Truth("depth_cached")
	w.CountTemplate = f.Truth("count_template")
	oneLength(f, "prompt_tokens", "prompt_lengths", "how many tokens each prompt has, such as 2048.", w.Data != nil)
	oneLength(f, "output_tokens", "output_lengths", "how many tokens are generated for each request, such as 32.", w.Data != nil)
	if at := f.Given("prompt_tokens", "prompt_lengths"); w.Data != nil && at != "" {
		f.Scope.Fail(f.Where(at), "workload-contradiction", "Conflicting arguments", "The prompts of a dataset have their own lengths. Remove %s, or the dataset.", at)
	}
}

// oneLength checks that a length is given in exactly one way.
func oneLength(f *eval.Body, tokens, lengths, why string, optional bool) {
	drawn := len(f.Blocks.OfType(lengths)) > 0
	switch {
	case drawn && !f.Absent(tokens):
		f.Scope.Fail(f.At(tokens), "workload-contradiction", "Conflicting arguments", "%s has %s and %s. Keep one of them.", f.What, tokens, lengths)
	case !drawn && !optional:
		f.Required(tokens, why)
	}
}

func lengths(f *eval.Body, word string) *plans.Lengths {
	b := f.Single(word)
	if b == nil {
		return nil
	}
	in := f.Scope.Fields(b, workloadDoc.Block(word))
	before := len(f.Scope.Diags)
	in.Required("distribution", `one of "uniform", "normal" and "lognormal".`)
	n := &plans.Lengths{
		Distribution: in.Text("distribution"), Min: max(1, in.Whole("min")), Max: in.Whole("max"),
		Mean: in.Number("mean"), Std: in.Number("std"),
	}
	if len(f.Scope.Diags) > before {
		n.Max = max(n.Min, n.Max)
		return n
	}
	needs, unused := []string{"mean", "std"}, []string(nil)
	if n.Distribution == "uniform" {
		needs, unused = []string{"min", "max"}, []string{"mean", "std"}
	}
	for _, name := range needs {
		in.Required(name, "a "+n.Distribution+" distribution has "+verdict.And(needs)+".")
	}
	for _, name := range unused {
		if !in.Absent(name) {
			f.Scope.Fail(in.At(name), "workload-contradiction", "Attribute of another distribution", "A uniform distribution has min and max, but no %s. Remove it, or choose normal or lognormal.", name)
		}
	}
	if n.Max == 0 {
		n.Max = max(n.Min, int(min(plans.MaxTokens, math.Ceil(n.Mean+4*n.Std))))
	}
	checkLengths(n, in)
	return n
}

func checkLengths(n *plans.Lengths, in *eval.Body) {
	switch {
	case n.Min > n.Max:
		in.Scope.Fail(in.At("min"), "workload-contradiction", "Contradictory lengths", "No length is at least %d and at most %d. Swap min and max, or correct one.", n.Min, n.Max)
	case n.Distribution != "uniform" && n.Mean > 0 && (n.Mean < float64(n.Min) || n.Mean > float64(n.Max)):
		in.Scope.Fail(in.At("mean"), "workload-contradiction", "Contradictory lengths", "The mean, %g, is not between min, %d, and max, %d. Correct one of them.", n.Mean, n.Min, n.Max)
	}
}

var paceAttrs = []plans.Attr{
	{Name: "concurrency", Type: plans.Ints, Default: 1.0, Unit: "requests", Min: 1, MinSet: true, Max: plans.MaxConcurrency, Doc: "How many requests are kept in flight (closed loop): each answer makes room for the next request. A list makes one cell per value."},
	{Name: "rate", Type: plans.Numbers, Unit: "requests per second", Min: plans.MinRate, MinSet: true, Max: plans.MaxRate, Doc: "Send on schedule, however slow the answers (open loop), and count latencies from the scheduled send time. Instead of `concurrency`."},
	{Name: "arrival", Type: plans.String, OneOf: []string{"poisson", "constant"}, Doc: "How requests of an open loop arrive. With a rate, poisson by default: like many independent users."},
	{Name: "max_concurrency", Type: plans.Int, Unit: "requests", Min: 1, MinSet: true, Max: plans.MaxConcurrency, Doc: "Maximum requests in flight in an open loop. Further ones wait, and their latency counts. Without it there is no limit."},
	{Name: "requests", Type: plans.Int, Default: 10.0, Unit: "requests", Min: 1, MinSet: true, Max: plans.MaxRequests, Doc: "Measured requests per cell and launch; with `turns`, conversations. Without it, at least 4 for each in flight; in an open loop, one minute's worth at the rate. With a `duration` it is the upper bound."},
	{Name: "duration", Type: plans.Duration, Doc: "Stop sending after this time; requests in flight are still answered and measured."},
	{Name: "warmup", Type: plans.Int, Default: 3.0, Unit: "requests", MinSet: true, Max: plans.MaxRequests, Doc: "Unmeasured requests before them. Without it, at least one for each in flight."},
}

func decodePace(w *plans.Workload, f *eval.Body) {
	w.Concurrency, w.ConcurrencyList = f.Wholes("concurrency")
	w.Rate, w.RateList = f.Numbers("rate")
	w.Arrival, w.MaxConcurrency = f.Text("arrival"), f.Whole("max_concurrency")
	w.Requests, w.Warmup, w.Duration = f.Whole("requests"), f.Whole("warmup"), f.Duration("duration")
	switch {
	case w.Arrival == "" && len(w.Rate) > 0:
		w.Arrival = "poisson"
	case w.Arrival == "" && len(w.Concurrency) == 0:
		w.Concurrency, w.ConcurrencyList = []int{1}, false
	}
}

// boundCells refuses a workload with too many cells, and cuts it down so that nobody
// makes them.
func boundCells(w *plans.Workload, f *eval.Body) {
	n := 1
	for _, values := range []int{len(w.PromptTokens), len(w.OutputTokens), len(w.Depth), len(w.Concurrency), len(w.Rate)} {
		n *= max(1, values)
	}
	if n <= plans.MaxCells {
		return
	}
	f.Scope.Fail(f.Def, "too-many-cells", "Too many cells", "The lists of %s make %d cells, each measured in every launch; the limit is %d. Shorten a list, or split the workload.", f.What, n, plans.MaxCells)
	for _, list := range []*[]int{&w.PromptTokens, &w.OutputTokens, &w.Depth, &w.Concurrency} {
		*list = (*list)[:min(1, len(*list))]
	}
	w.Rate = w.Rate[:min(1, len(w.Rate))]
}

// countRequests decides whether cells have numbers of requests of their own.
func countRequests(w *plans.Workload, f *eval.Body) {
	requests, warmup := w.Requests, w.Warmup
	w.RequestsByCell, w.WarmupByCell = f.Absent("requests"), f.Absent("warmup")
	differs, warmupDiffers := false, false
	for _, c := range w.Cells() {
		differs = differs || c.Requests != requests
		warmupDiffers = warmupDiffers || c.Warmup != warmup
	}
	w.RequestsByCell, w.WarmupByCell = differs, warmupDiffers
}

var samplingAttrs = []plans.Attr{
	{Name: "temperature", Type: plans.Number, Default: 0.0, MinSet: true, Max: 100, Doc: "Sampling temperature; 0 takes the likeliest token."},
	{Name: "top_p", Type: plans.Number, Default: 0.0, MinSet: true, Max: 1, Doc: "Sample from the likeliest tokens that make up this share; 0 does not send it."},
	{Name: "top_k", Type: plans.Int, Default: 0.0, Unit: "tokens", MinSet: true, Max: maxTopK, Doc: "Sample from this many of the likeliest tokens; 0 does not send it."},
	{Name: "min_p", Type: plans.Number, Default: 0.0, MinSet: true, Max: 1, Doc: "Sample from tokens with at least this share of the likeliest one's probability; 0 does not send it."},
	{Name: "repetition_penalty", Type: plans.Number, Default: 0.0, MinSet: true, Max: 10, Doc: "Divides the score of tokens that came before; 1 changes nothing, 0 does not send it."},
	{Name: "seed", Type: plans.Int, Default: 42.0, MinSet: true, Max: math.MaxInt32, Doc: "Seed of prompts, lengths, arrivals and sampling."},
	{Name: "same_texts", Type: plans.Bool, Default: false, Doc: "Send all arms of a round the same texts, each after a unique prefix: for features that depend on the text, such as speculation. An engine that caches texts across launches can benefit from it. Without it, every launch has its own texts."},
	{Name: "ignore_eos", Type: plans.Bool, Default: true, Doc: "Continue past the end of text, which enforces the length of the answer."},
}

// maxTopK is more tokens than a vocabulary has.
const maxTopK = 10_000_000

var judgingAttrs = []plans.Attr{
	{Name: "latency_correction", Type: plans.String, Default: "none", OneOf: []string{"none", "api", "generation"}, Doc: "What corrected metrics subtract from the time to the first token, as llama-benchy does: the time of a call that generates nothing (api) or one token (generation)."},
	{Name: "coherence", Type: plans.String, OneOf: []string{"baseline", "absolute", "off"}, Doc: "How answers are checked, so garbage cannot win: absolute checks each answer, baseline requires them to be no worse than the parent's. Without it, baseline if `ignore_eos` forces lengths, absolute if answers end on their own."},
	{Name: "retries", Type: plans.Int, Default: 0.0, MinSet: true, Max: 100, Doc: "How often a request is retried when the engine defers it (status 429 or 503 with Retry-After). The time counts."},
	{Name: "max_errors", Type: plans.Int, Default: 0.0, Unit: "requests", MinSet: true, Max: plans.MaxRequests, Doc: "How many measured requests of a cell can fail before the launch does."},
	{Name: "max_lag", Type: plans.Duration, Doc: "How late the measuring client can send or wake (99th percentiles) before its measurements are invalid. Without it, 10ms; 100ms for the embedded engine, which shares the client's CPUs."},
	{Name: "request_timeout", Type: plans.Duration, Default: "2m", Doc: "Time limit of one request."},
	{Name: "first_timeout", Type: plans.Duration, Default: "10m", Doc: "Time limit of the first request after a start, which can compile kernels, to its first token."},
	{Name: "stall_timeout", Type: plans.Duration, Default: "30s", Doc: "Maximum wait between two events of a stream, from the first token on."},
}

var sloDoc = &lang.BlockDoc{
	Type: "slo", Times: plans.AtMost1,
	Doc: "A good request keeps all of these limits. Goodput counts good requests.",
	Attrs: []plans.Attr{
		{Name: "ttft", Type: plans.Duration, Doc: "Maximum time to the first token."},
		{Name: "tpot", Type: plans.Duration, Doc: "Maximum time per output token after the first."},
		{Name: "itl", Type: plans.Duration, Doc: "Maximum time between any two tokens."},
		{Name: "e2e", Type: plans.Duration, Doc: "Maximum time to the last token."},
	},
	Example: `slo {
  ttft = "300ms"
  tpot = "50ms"
}`,
}

func decodeJudging(w *plans.Workload, f *eval.Body) {
	w.LatencyCorrection = f.Text("latency_correction")
	w.Coherence = f.Text("coherence")
	switch {
	case w.Coherence != "":
	case w.IgnoreEOS:
		w.Coherence = "baseline"
	default:
		w.Coherence = "absolute"
	}
	w.Retries, w.MaxErrors, w.MaxLag = f.Whole("retries"), f.Whole("max_errors"), f.Duration("max_lag")
	w.RequestTimeout, w.FirstTimeout, w.StallTimeout = f.Duration("request_timeout"), f.Duration("first_timeout"), f.Duration("stall_timeout")
	w.SLO = slo(f)
}

func slo(f *eval.Body) map[string]time.Duration {
	b := f.Single("slo")
	if b == nil {
		return nil
	}
	in := f.Scope.Fields(b, sloDoc)
	limits := map[string]time.Duration{}
	written := false
	for _, name := range plans.Objectives {
		written = written || !in.Absent(name)
		if d := in.Duration(name); d > 0 {
			limits[name] = d
		}
	}
	if !written {
		f.Scope.Fail(b.DefRange, "empty-value", "Empty slo", `Without a limit every request is good. Give one, such as ttft = "300ms".`)
	}
	return limits
}

// maxDataset is the largest file of prompts, in bytes: it is read at each load.
const maxDataset = 64 << 20

var datasetDoc = &lang.BlockDoc{
	Type: "dataset", Times: plans.AtMost1,
	Doc: "Sends the rows of a file in order, instead of generated prompts; none is sent twice. Measurements depend on the file's content: a changed file is measured again.",
	Attrs: []plans.Attr{
		{Name: "file", Type: plans.String, Required: true, Doc: "Path of the file, relative to the plan's folder: JSON Lines, one object per row. A row has a `prompt`, `messages` or `conversations`. `output_tokens` is the length of the answer."},
	},
	Example: `dataset {
  file = "prompts.jsonl"
}`,
}

func (l *loader) dataset(f *eval.Body) *plans.Dataset {
	b := f.Single("dataset")
	if b == nil {
		return nil
	}
	in := l.Fields(b, datasetDoc)
	name := in.NeedText("file", "the path of a prompt file, one JSON object per line.")
	if name == "" {
		return &plans.Dataset{}
	}
	d, err := dataset(l.plan, name, l.reg.Dataset)
	if err != nil {
		l.Fail(in.At("file"), "dataset", "Unusable dataset", "%v.", err)
	}
	return d
}

// ReadDataset reads a file of prompts for a workload that no plan declares; rows
// interprets its content. Errors start with the name.
func ReadDataset(name string, rows func(name string, data []byte) (plans.DataRows, error)) (*plans.Dataset, error) {
	return dataset(new(plans.Plan), name, rows)
}

// dataset reads a file of prompts; with an error, it returns what is known of the file.
func dataset(p *plans.Plan, name string, rows func(name string, data []byte) (plans.DataRows, error)) (*plans.Dataset, error) {
	d := &plans.Dataset{File: p.Abs(name)}
	data, digest, err := readNamed(p, name, maxDataset)
	d.Digest = digest
	switch {
	case err != nil:
	case len(bytes.TrimSpace(data)) == 0:
		err = fmt.Errorf("%s is empty: there is nothing to send", name)
	case rows != nil:
		d.DataRows, err = rows(name, data)
	}
	return d, err
}

// checkData checks whether a dataset holds what its workload needs.
func checkData(w *plans.Workload, f *eval.Body) {
	d := w.Data
	if d == nil || d.Count == 0 {
		return
	}
	switch {
	case w.API == "completions" && d.Chat > 0:
		f.Scope.Fail(f.Where("dataset"), "dataset", "Unusable dataset", "Line %d of the file can only be sent as a chat. Set api = \"chat\".", d.Chat)
	case f.Lacks("output_tokens") && w.OutputLengths == nil && d.Unanswered > 0:
		f.Scope.Fail(f.Where("dataset"), "missing-attribute", "Missing output_tokens", "Line %d of the file does not give the answer's length. Set output_tokens, the default for such lines.", d.Unanswered)
	}
	for _, c := range w.Cells() {
		if rows := c.Requests + c.Warmup; rows > d.Count {
			f.Scope.Fail(f.Where("dataset"), "dataset", "Dataset is too short", "%s takes %d rows, but the file has %d; no row is sent twice, because the engine would have it cached. Add rows, or lower requests.", c.Address, rows, d.Count)
			return
		}
	}
}
