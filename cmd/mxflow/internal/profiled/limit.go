package profiled

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/report"
)

// Served is what an engine served while it was profiled, and on what: the basis for its
// kernels' limits.
type Served struct {
	// Config is the file of the model's config.
	Config string
	GPUs   []string
	// Context is in tokens, Bandwidth in GB/s of all GPUs together; 0 is unknown.
	Context, Bandwidth float64
	// Recorded is the basis recorded by a launch, which replaces all that.
	Recorded *trace.Basis

	model *limit.Model
}

// Read reads the model's config. asked is false if neither model nor GPU is named.
func (s *Served) Read() (asked bool, err error) {
	switch {
	case s.Config == "" && len(s.GPUs) == 0 && s.Context == 0 && s.Bandwidth == 0:
		return false, nil
	case s.Config == "" || len(s.GPUs) == 0:
		return false, errors.New("the limits of a machine need both --model config.json and --gpu NAME")
	case !(s.Context >= 0 && s.Context <= 1e9):
		return false, fmt.Errorf("--context %v: give tokens, such as 1024", s.Context)
	case !(s.Bandwidth >= 0 && s.Bandwidth <= 1e9):
		return false, fmt.Errorf("--bandwidth %v: give GB/s, such as 3000", s.Bandwidth)
	}
	if _, err := limit.Of(s.GPUs); err != nil {
		return false, fmt.Errorf("--gpu: %w. Known: %s", err, strings.Join(limit.GPUNames(), ", "))
	}
	text, err := os.ReadFile(s.Config)
	if err != nil {
		return false, fmt.Errorf("--model: %w", err)
	}
	if s.model, err = limit.Read(text); err != nil {
		return false, fmt.Errorf("--model %s: %w", s.Config, err)
	}
	return true, nil
}

// against computes the roofline of a part. One name stands for all GPUs of the part.
func (s *Served) against(p *trace.Part) (*trace.Roofline, error) {
	if s.Recorded != nil {
		return trace.RooflineOf(p, *s.Recorded)
	}
	names := s.GPUs
	if len(names) == 1 {
		names = slices.Repeat(names, max(p.GPUs, 1))
	}
	on, err := limit.Of(names)
	if err != nil {
		return nil, err
	}
	on.Reached = s.Bandwidth * 1e9
	return trace.RooflineOf(p, trace.Basis{Model: s.model, Machine: on, Context: s.Context})
}

// Limited is an analysis with the machine's limits for each part where they can be
// computed, as JSON.
type Limited struct {
	Analysis *trace.Analysis   `json:"analysis"`
	Limits   []*trace.Roofline `json:"limits"`
}

// Limited compares each part of an analysis with the machine's limits.
func (s *Served) Limited(analysis *trace.Analysis) Limited {
	out := Limited{Analysis: analysis, Limits: []*trace.Roofline{}}
	for i := range analysis.Parts {
		if r, err := s.against(&analysis.Parts[i]); err == nil {
			out.Limits = append(out.Limits, r)
		}
	}
	return out
}

// print prints where a step's time goes, and how short it could be.
func (s *Served) print(on table.Screen, p *trace.Part) {
	if p.Phase == trace.Prefill {
		return // which has none
	}
	r, err := s.against(p)
	switch {
	case errors.Is(err, trace.ErrWhole):
		fmt.Fprintf(on, "\nNo limit: %v. Describe the profile with --phase, --requests and --steps.\n", err)
		return
	case err != nil:
		fmt.Fprintf(on, "\nNo limit: %v.\n", err)
		return
	}
	percent := func(share float64) string { return verdict.Digits(share, "share", -2) }
	var rows [][]string
	for _, row := range r.Rows {
		line := []string{trace.Words(row.Category), report.Tenths(row.Took), "", "", "", ""}
		if row.Limit > 0 {
			line[2], line[3], line[5] = report.Tenths(row.Limit), percent(row.OfLimit()), string(row.Waits)
		}
		if row.Gain != nil && !row.Gain.Open {
			line[4] = verdict.Number(row.Gain.Most, "ratio")
		}
		rows = append(rows, line)
	}
	if r.Timed() {
		rows = append(rows, []string{"no GPU busy", spanned(r.Step.Low-r.Busy, r.Step.High-r.Busy, report.Tenths), "", "", "", ""})
		step := []string{"step", spanned(r.Step.Low, r.Step.High, report.Tenths), "", "", "", ""}
		if least := r.Limit(); least > 0 {
			step[2], step[3] = report.Tenths(least), spanned(least/r.Step.High, least/r.Step.Low, percent)
		}
		rows = append(rows, step)
	}
	if r.Model != "" {
		by := "data sheet"
		if r.Measured {
			by = "measured"
		}
		title := fmt.Sprintf("%s on %s, %s (%s)", r.Model, r.Machine, verdict.Number(r.Bandwidth, "GB/s"), by)
		if r.Phase == trace.Decode {
			title += fmt.Sprintf(", %s tokens of context", verdict.Number(r.Context, ""))
		}
		fmt.Fprintln(on, "\n"+title)
	}
	fmt.Fprintln(on)
	on.Table([]string{"limit", "µs/step", "at least", "of limit", "gain at it", "waits for"}, rows)
	fmt.Fprintln(on)
	for _, fact := range factsOf(r) {
		fmt.Fprintln(on, verdict.Sentence(fact))
	}
}

// spanned is a span, or one number if both ends read the same.
func spanned(low, high float64, text func(float64) string) string {
	if x, y := text(low), text(high); x != y {
		return x + "–" + y
	}
	return text(low)
}

// factsOf are what bounds a part of a profile, and notes on its limits.
func factsOf(r *trace.Roofline) []verdict.Reason {
	facts := []verdict.Reason{boundBy(r)}
	var above []string
	for _, row := range r.Rows {
		if row.OfLimit() > 1 {
			above = append(above, trace.Words(row.Category))
		}
		if row.Kernel != "" {
			facts = append(facts, verdict.Say("bound.head_taken",
				"the output projection (lm_head) is taken to be {subject}, the only dense GEMM that runs once "+
					"per step and takes long enough").On(row.Kernel))
		}
	}
	if above != nil {
		facts = append(facts, verdict.Say("bound.above_limit",
			"{categories} is above its limit: it reads smaller formats than config.json names, or fewer experts "+
				"than independently routed tokens would use",
			verdict.List("categories", above)))
	}
	return facts
}

var bounds = map[trace.BoundBy]code.Fact{
	trace.BoundHost:          code.Of("bound.host", "{subject} is bound by the host: no GPU is busy for {share:2} of a step"),
	trace.BoundCommunication: code.Of("bound.communication", "{subject} is bound by communication: {share:2} of a step"),
	trace.BoundMemory: code.Of("bound.memory", "{subject} is bound by memory bandwidth: kernels limited by it take "+
		"{share:2} of a step and reach {of_limit:2} of it"),
	trace.BoundCompute: code.Of("bound.compute", "{subject} is bound by compute: kernels limited by it take {share:2} "+
		"of a step and reach {of_limit:2} of the peak"),
}

const allShares = "no GPU is busy for {host:2} of it, memory bandwidth takes {memory:2}, compute {compute:2}, " +
	"communication {communication:2}, kernels without a limit {rest:2}"

var unknowns = map[string]code.Fact{
	trace.NoLimit: code.Of("bound.no_limit", "no lower limit is known for the time of its kernels"),
	trace.Unseen: code.Of("bound.kernels_unseen",
		"the profile does not show all kernels that the model needs ({categories})"),
	trace.NoMost:  code.Of("bound.nothing_most", "nothing takes most of a step for sure: "+allShares),
	trace.Untimed: code.Of("bound.sums_only", "the profile has sums of kernels, not how long a step takes"),
}

// boundBy is what bounds a part of a profile, as a fact.
func boundBy(r *trace.Roofline) verdict.Reason {
	b := r.Bound
	share := func(name string, by trace.BoundBy) verdict.Arg {
		if s := b.Shares[by]; s.Low != s.High {
			return verdict.Span(name, s.Low, s.High, "share")
		}
		return verdict.Num(name, b.Shares[by].Low, "share")
	}
	if fact, known := bounds[b.By]; known {
		return verdict.New(fact, share("share", b.By), verdict.Num("of_limit", b.OfLimit, "share")).On(r.Phase)
	}
	var values []verdict.Arg
	for _, by := range slices.Sorted(maps.Keys(b.Shares)) {
		values = append(values, share(string(by), by))
	}
	var missing []string
	for _, row := range r.Missing {
		missing = append(missing, row.Category)
	}
	why := verdict.New(unknowns[b.Why], append(values, verdict.List("categories", missing))...)
	return verdict.Say("bound.unknown", "cannot tell what bounds {subject}: {causes}").On(r.Phase).From(why)
}
