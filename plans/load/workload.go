package load

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/load/traffic"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var workloadDoc = block(plans.Workload{}, lang.BlockDoc{
	Type: "workload", Times: plans.AnyTimes, Repeats: true,
	Doc: "Requests to send; each combination of lists is a cell. Its address has an element per list: `p512` " +
		"prompt, `o32` output, `d4096` depth, `c16` concurrency, `r2_5` rate, in this order. Prompts start with a " +
		"unique prefix, so prefix caches miss, and are the same for all arms.",
	Blocks: []*lang.BlockDoc{promptLengthsDoc, outputLengthsDoc, datasetDoc, sloDoc, capacityDoc},
})

var (
	promptLengthsDoc = block(plans.Lengths{}, lang.BlockDoc{
		Type: "prompt_lengths", Times: plans.AtMost1,
		Doc: "Draws the length of each prompt, instead of `prompt_tokens`. All arms get the same lengths.",
	})
	outputLengthsDoc = block(plans.Lengths{}, lang.BlockDoc{
		Type: "output_lengths", Times: plans.AtMost1,
		Doc: "Draws the length of each answer, instead of `output_tokens`. All arms get the same lengths.",
	})
	datasetDoc = block(plans.Dataset{}, lang.BlockDoc{
		Type: "dataset", Times: plans.AtMost1,
		Doc: "Sends the rows of a file in order, instead of generated prompts. None is sent twice. Measurements " +
			"depend on the file's content: a changed file is measured again.",
	})
	sloDoc = block(slo{}, lang.BlockDoc{
		Type: "slo", Times: plans.AtMost1,
		Doc: "Limits that a good request keeps. Goodput counts good requests.",
	})
)

var capacityDoc = block(plans.Capacity{}, lang.BlockDoc{
	Type: "capacity", Times: plans.AtMost1,
	Doc: "Searches in each launch for the largest rate that keeps `slo`. It is the metric `capacity`. Each " +
		"rate is a probe: Poisson arrivals, the same for all arms, with a warm-up and a drain.",
})

type slo struct {
	TTFT time.Duration `hcl:"ttft,optional" unless:"tpot|itl|e2e" needs:"a limit; without any, every request is good." doc:"Maximum time to the first token."`
	TPOT time.Duration `hcl:"tpot,optional" doc:"Maximum time per output token after the first."`
	ITL  time.Duration `hcl:"itl,optional" doc:"Maximum time between any two tokens."`
	E2E  time.Duration `hcl:"e2e,optional" doc:"Maximum time to the last token."`
}

func (l *loader) decodeWorkload(b *hcl.Block) {
	w := &plans.Workload{}
	f := l.Read(b, workloadDoc, w)
	for name, list := range sorted.All(map[string]*bool{
		"prompt_tokens": &w.PromptList, "output_tokens": &w.OutputList, "depth": &w.DepthList,
		"concurrency": &w.ConcurrencyList, "rate": &w.RateList,
	}) {
		*list = l.dimension(f, name)
	}
	if w.Arrival == "" && len(w.Rate) > 0 {
		w.Arrival = "poisson"
	}
	if w.TraceFile != "" {
		l.trace(w, f)
	}
	if w.Open() && f.Absent("concurrency") {
		w.Concurrency = nil
	}
	switch {
	case w.Coherence != "":
	case w.IgnoreEOS:
		w.Coherence = "baseline"
	default:
		w.Coherence = "absolute"
	}
	if b := f.Single("dataset"); b != nil {
		w.Data = &plans.Dataset{}
		if in := l.Read(b, datasetDoc, w.Data); w.Data.File != "" {
			var err error
			if w.Data, err = dataset(l.plan, w.Data.File, l.reg.Dataset); err != nil {
				l.Fail(in.At("file"), "dataset", "Unusable dataset", "%v.", err)
			}
		}
	}
	w.PromptLengths, w.OutputLengths = lengths(f, promptLengthsDoc), lengths(f, outputLengthsDoc)
	if w.Data != nil && len(f.Blocks.OfType("prompt_lengths")) > 0 {
		l.Fail(f.Where("prompt_lengths"), "conflicting-arguments", "Conflicting arguments",
			"%s has prompt_lengths and dataset. Remove one of them.", f.What)
	}
	if b := f.Single("slo"); b != nil {
		var limits slo
		l.Read(b, sloDoc, &limits)
		w.SLO = map[string]time.Duration{}
		for name, limit := range map[string]time.Duration{
			"ttft": limits.TTFT, "tpot": limits.TPOT, "itl": limits.ITL,
			"e2e": limits.E2E,
		} {
			if limit > 0 {
				w.SLO[name] = limit
			}
		}
	}
	if gap := plans.BetweenTokens(w.SLO); gap != "" && w.OutputTokens != nil && slices.Min(w.OutputTokens) == 1 {
		l.Fail(f.Where("slo"), "not-measured", "No time between tokens",
			"%s limits %s, which an answer of one token does not have. Set output_tokens to more, or limit ttft.",
			f.What, gap)
	}
	w.Capacity = searched(l, w, f)
	n := 1
	for _, values := range []int{
		len(w.PromptTokens), len(w.OutputTokens), len(w.Depth),
		len(w.Concurrency), len(w.Rate),
	} {
		n *= max(1, values)
	}
	if n > plans.MaxCells {
		l.Fail(f.Def, "too-many-cells", "Too many cells",
			"The lists of %s make %d cells, each measured in every launch; the limit is %d. Shorten a list, or split "+
				"the workload.", f.What, n, plans.MaxCells)
		w.PromptTokens, w.OutputTokens, w.Depth, w.Concurrency, w.Rate = nil, nil, nil, nil, nil // no engine makes them
	}
	// Cells have numbers of requests of their own if the plan gives none and they differ.
	requests, warmup := false, false
	w.RequestsByCell, w.WarmupByCell = f.Absent("requests"), f.Absent("warmup")
	for _, c := range w.Cells() {
		requests, warmup = requests || c.Requests != w.Requests, warmup || c.Warmup != w.Warmup
	}
	w.RequestsByCell, w.WarmupByCell = requests, warmup
	if !f.HasErrors() { // a mistake in a single attribute would be called a contradiction
		checkPace(w, f)
		checkData(w, f)
	}
	add(l, b, &l.plan.Workloads, w)
}

// searched reads how the capacity is searched; nil if it is not.
func searched(l *loader, w *plans.Workload, f *eval.Body) *plans.Capacity {
	b := f.Single("capacity")
	if b == nil {
		return nil
	}
	c := &plans.Capacity{}
	in := l.Read(b, capacityDoc, c)
	switch {
	case len(w.SLO) == 0:
		l.Fail(in.Def, "not-measured", "Capacity without an SLO",
			"Capacity is the largest rate that keeps limits, and %s declares none. Add an slo block, such as ‹slo { "+
				"ttft = \"500ms\" }›.", f.What)
	case w.Data != nil:
		l.Fail(in.Def, "conflicting-arguments", "Conflicting arguments",
			"%s has dataset and capacity: no row is sent twice, and how many a search needs is not known. Remove one "+
				"of them, and set prompt_tokens or ‹prompt_lengths {}›.", f.What)
	case c.Start > c.MaxRate:
		l.Fail(in.At("start"), "conflicting-arguments", "Start above max_rate",
			"start is %g and max_rate %g requests per second. Lower start.", c.Start, c.MaxRate)
	case c.Probe < minDuration:
		l.Fail(in.At("probe"), "duration-too-short", "Duration is too short",
			"A probe must be at least 1s, not %s. Set ‹probe = \"30s\"›.", c.Probe)
	}
	w.Arrival, w.Concurrency = "poisson", nil
	return c
}

// dimension reports whether a dimension of cells is written as a list.
func (l *loader) dimension(f *eval.Body, name string) (list bool) {
	v, ok := f.Value(name)
	if !ok {
		return false
	}
	_, list = eval.Elements(f.Attrs[name].Expr, v)
	return list
}

// lengths reads a block of lengths to draw; nil if there is none.
func lengths(f *eval.Body, doc *lang.BlockDoc) *plans.Lengths {
	b := f.Single(doc.Type)
	if b == nil {
		return nil
	}
	n := &plans.Lengths{}
	in := f.Scope.Read(b, doc, n)
	n.Min = max(1, n.Min)
	if in.HasErrors() {
		n.Max = max(n.Min, n.Max)
		return n
	}
	if n.Max == 0 {
		n.Max = max(n.Min, int(min(plans.MaxTokens, math.Ceil(n.Mean+4*n.Std))))
	}
	switch {
	case n.Min > n.Max:
		f.Scope.Fail(in.At("min"), "conflicting-arguments", "Contradictory lengths",
			"No length is at least %d and at most %d. Swap min and max, or correct one.", n.Min, n.Max)
	case n.Distribution != "uniform" && n.Mean > 0 && (n.Mean < float64(n.Min) || n.Mean > float64(n.Max)):
		f.Scope.Fail(in.At("mean"), "conflicting-arguments", "Contradictory lengths",
			"The mean, %g, is not between min, %d, and max, %d. Correct one of them.", n.Mean, n.Min, n.Max)
	}
	return n
}

// trace reads recorded traffic, and selects what is sent of it.
func (l *loader) trace(w *plans.Workload, f *eval.Body) {
	data, digest, err := readNamed(l.plan, w.TraceFile, traffic.MaxSize)
	if err == nil {
		err = w.Record(l.plan.Abs(w.TraceFile), data, digest)
	}
	w.Arrival = plans.Recorded
	switch {
	case err != nil:
		l.Fail(f.At("trace"), "trace", "Unusable trace", "%s.", strings.TrimSuffix(err.Error(), "."))
	case w.API == "completions" && w.Trace.Sent.Chats > 0:
		l.Fail(f.At("trace"), "trace", "Unusable trace",
			"%d of its requests can only be sent as a chat. Set ‹api = \"chat\"›.", w.Trace.Sent.Chats)
	case w.Trace.Sent.Unanswered > 0 && f.Lacks("output_tokens"):
		l.Fail(f.At("trace"), "missing-attribute", "Missing output_tokens",
			"Line %d of the trace does not give the answer's length. Set output_tokens, the default for such lines.",
			w.Trace.Sent.Unanswered)
	}
}

// maxDataset is the largest file of prompts, in bytes: it is read at each load.
const maxDataset = 64 << 20

// dataset reads a file of prompts; with an error, it returns what is known of the file.
func dataset(p *plans.Plan, name string, rows func(name string, data []byte) (plans.DataRows, error)) (*plans.Dataset,
	error,
) {
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
		f.Scope.Fail(f.Where("dataset"), "dataset", "Unusable dataset",
			"Line %d of the file can only be sent as a chat. Set ‹api = \"chat\"›.", d.Chat)
	case f.Lacks("output_tokens") && w.OutputLengths == nil && d.Unanswered > 0:
		f.Scope.Fail(f.Where("dataset"), "missing-attribute", "Missing output_tokens",
			"Line %d of the file does not give the answer's length. Set output_tokens, the default for such lines.",
			d.Unanswered)
	}
	for _, c := range w.Cells() {
		if rows := c.Requests + c.Warmup; rows > d.Count {
			f.Scope.Fail(f.Where("dataset"), "dataset", "Dataset is too short",
				"%s takes %d rows, but the file has %d; no row is sent twice, because the engine would have it "+
					"cached. Add rows, or lower requests.", c.Address, rows, d.Count)
			return
		}
	}
}

// minDuration is the least duration of a cell: in less, only a request or two are sent,
// and a comparison of those shows only chance.
const minDuration = time.Second

func checkPace(w *plans.Workload, f *eval.Body) {
	if w.Duration > 0 && w.Duration < minDuration {
		f.Scope.Fail(f.At("duration"), "duration-too-short", "Duration is too short",
			"A duration must be at least 1s, not %s. Set ‹duration = \"30s\"›, or use requests instead.", w.Duration)
	}
	for _, c := range w.Concurrency {
		if f.FirstPresent("requests") != "" && w.Requests < c {
			f.Scope.Fail(f.At("requests"), "conflicting-arguments", "Too few requests for the concurrency",
				"%d requests cannot keep %d in flight. Set ‹requests = %d› or more, or leave it out.",
				w.Requests, c, 4*c)
			break
		}
	}
	for _, of := range []struct {
		name  string
		value float64 // 0 is not sent
	}{{"top_p", w.TopP}, {"top_k", float64(w.TopK)}, {"min_p", w.MinP}} {
		if w.Temperature == 0 && of.value != 0 {
			f.Scope.Warn(f.At(of.name), "no-effect", "Sampling has no effect",
				"At temperature 0 the likeliest token is always taken, whatever %s is. Set a temperature, or remove "+
					"%s.", of.name, of.name)
			break
		}
	}
}
