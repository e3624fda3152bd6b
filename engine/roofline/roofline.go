// Package roofline compares a profile with what the machine allows: for each category of
// kernels how long it took and how long it must take, what a step waits for, and how much
// faster a step can become if kernels do. It reads no files, and does not know plans,
// rules or sentences.
package roofline

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/profile"
)

// Basis is what a part of a profile is compared with. Without a model the minimum time of
// kernels is unknown.
type Basis struct {
	Model   *limit.Model
	Machine limit.Machine
	// Context is how many tokens of context each request had, averaged over the decoding
	// steps. 0 leaves out the KV cache, so the limit of attention is too low.
	Context float64
}

// Span is a range of numbers, with equal ends if the value is known exactly.
type Span struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Roofline is one part of a profile. Times are in µs per step: of decoding, or of one
// pass over prompts.
type Roofline struct {
	Phase    string `json:"phase"`
	Requests int    `json:"requests,omitempty"`
	// Tokens is how many tokens a step computes.
	Tokens float64 `json:"tokens"`
	// Model and Machine are what its limits refer to, with the bandwidth in GB/s,
	// measured by a benchmark or from data sheets. All are empty if there is no limit.
	Model     string  `json:"model,omitempty"`
	Machine   string  `json:"machine,omitempty"`
	Bandwidth float64 `json:"bandwidth_gb_s,omitempty"`
	Measured  bool    `json:"bandwidth_measured,omitempty"`
	Context   float64 `json:"context,omitempty"`
	// Step is the end-to-end time of one without a profiler: a span if that was not
	// measured, and 0 if the profile only has sums of kernels.
	Step Span `json:"step_us"`
	// Busy is how long the GPU works at anything during that, and GPU the sum over
	// kernels and copies. Busy equals GPU if the profile only has sums.
	Busy float64 `json:"busy_us"`
	GPU  float64 `json:"gpu_us"`
	// Rows are the categories, in the profile's order.
	Rows []Row `json:"categories"`
	// Missing are categories in the model's config that the profile does not have.
	Missing []Row `json:"missing,omitempty"`
	Bound   Bound `json:"bound"`
	// host is the time of the busiest host thread.
	host float64
}

// Row is one category.
type Row struct {
	Category string `json:"category"`
	// Kernel is the row's kernel, if it is not all of a category.
	Kernel string  `json:"kernel,omitempty"`
	Took   float64 `json:"us"`
	// Limit is its minimum time, and Waits what limits it; Bytes and FLOPs are its work.
	// All are 0 if unknown.
	Limit float64        `json:"limit_us,omitempty"`
	Waits limit.Resource `json:"waits,omitempty"`
	Bytes float64        `json:"bytes,omitempty"`
	FLOPs float64        `json:"flops,omitempty"`
	// Gain is a step's gain if the row is brought to its limit.
	Gain *Gain `json:"gain_at_limit,omitempty"`
}

// OfLimit is the share of the machine's limit that a row reaches; 0 if unknown. It may
// exceed 1 if the engine reads smaller formats than in the model's config.
func (r Row) OfLimit() float64 {
	if !(r.Limit > 0) || !(r.Took > 0) {
		return 0
	}
	return r.Limit / r.Took
}

// Limit is the minimum time of a step: the model's work, one after another, whether the
// profile shows its kernels or not. 0 if unknown.
func (r *Roofline) Limit() (least float64) {
	for _, row := range slices.Concat(r.Rows, r.Missing) {
		least += row.Limit
	}
	return least
}

// Timed reports whether anything is known about a step's end-to-end time.
func (r *Roofline) Timed() bool { return r.Step.Low > 0 }

// took is how long the kernels of a category take; the output projection is one of the
// dense matrices, and separate if it can be told apart.
func (r *Roofline) took(category string) (took float64, known bool) {
	for _, row := range r.Rows {
		if row.Category == category || row.Kernel != "" && category == limit.Dense {
			took, known = took+row.Took, true
		}
	}
	return took, known
}

// Reasons why a part cannot be laid out by steps.
var (
	ErrWhole   = errors.New("the profile does not separate prefill from decode")
	ErrNoSteps = errors.New("the profile does not have the number of steps")
	ErrTimes   = errors.New("its times are contradictory")
)

// stretch is the maximum factor by which a profiler lengthens a step. One that traces
// CUDA graphs lengthened steps of vLLM by 26%; one that records each Python operation
// takes longer.
const stretch = 2

// Of computes the roofline of one part of a profile.
func Of(p *profile.Part, on Basis) (*Roofline, error) {
	if p.Phase != profile.Decode && p.Phase != profile.Prefill {
		return nil, ErrWhole
	}
	if p.Steps <= 0 {
		return nil, ErrNoSteps
	}
	steps := float64(p.Steps)
	r := &Roofline{
		Phase: p.Phase, Requests: p.Requests, Tokens: float64(p.Tokens) / steps,
		Step: Span{max(p.Busy, p.Wall/stretch) / steps, p.Wall / steps}, Busy: p.Busy / steps, GPU: p.GPU / steps,
	}
	if p.Unprofiled > 0 {
		r.Step = Span{p.Unprofiled, p.Unprofiled}
	}
	least := []float64{r.GPU, r.Busy, r.Step.Low, r.Step.High}
	if p.Busy == 0 && p.Wall == 0 {
		r.Busy, least = r.GPU, least[:1] // a profile of sums
	}
	for _, x := range least {
		if !(x > 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: a GPU is busy for %g µs, with activities for %g µs, of %g µs", ErrTimes, p.GPU, p.Busy, p.Wall)
		}
	}
	if r.Step.Low > r.Step.High || !(r.Step.Low >= 0) || math.IsInf(r.Step.High, 0) {
		return nil, fmt.Errorf("%w: a GPU is busy for %g µs of %g µs", ErrTimes, p.Busy, p.Wall)
	}
	for _, t := range p.Threads {
		r.host = max(r.host, t.Total/steps)
	}
	var sum float64
	for _, c := range p.Categories {
		if sum += c.Total; !(c.Total >= 0) || math.IsInf(sum, 0) {
			return nil, fmt.Errorf("%w: %s takes %g µs", ErrTimes, c.Name, c.Total)
		}
		r.Rows = append(r.Rows, Row{Category: c.Name, Took: c.Total / steps})
	}
	r.limit(p, on)
	r.Bound = boundOf(r)
	for i, row := range r.Rows {
		if r.Timed() && row.Limit > 0 && row.Took > row.Limit {
			g := gainOf(r, row.Took-row.Limit)
			r.Rows[i].Gain = &g
		}
	}
	return r, nil
}

// Gain is a step's gain if kernels become faster as claimed; open if its duration is
// unknown. Unknown are categories of the claim that the profile does not have.
func (r *Roofline) Gain(c Claim) (g Gain, unknown []string) {
	var saved float64
	for _, category := range slices.Sorted(maps.Keys(c)) {
		took, known := r.took(category)
		if !known || !(took > 0) || !(c[category] >= 1) {
			unknown = append(unknown, category)
			continue
		}
		saved += took * (1 - 1/c[category])
	}
	if head := r.row(limit.Head); head >= 0 && r.Rows[head].Kernel != "" && c[limit.Head] >= 1 && c[limit.Dense] >= 1 {
		saved -= r.Rows[head].Took * (1 - 1/c[limit.Dense]) // it has its own claim
	}
	return gainOf(r, saved), unknown
}

// limit adds the rows' minimum times.
func (r *Roofline) limit(p *profile.Part, on Basis) {
	if on.Model == nil || r.Phase == profile.Decode && r.Requests <= 0 || r.Tokens < 1 {
		r.split(p, 0)
		return
	}
	if p.GPUs > 0 && p.GPUs != len(on.Machine.GPUs) {
		r.split(p, 0)
		return // which part of the weights each has is unknown
	}
	prompts := float64(r.Requests)
	if p.Batch {
		prompts *= float64(max(1, p.GPUs)) / float64(p.Steps)
	}
	work := on.Model.Prefill(max(int(math.Round(prompts)), 1), int(r.Tokens))
	if r.Phase == profile.Decode {
		work, r.Context = on.Model.Decode(r.Requests, on.Context), on.Context
	}
	r.Model, r.Machine = on.Model.Type, on.Machine.Name
	r.Bandwidth, r.Measured = on.Machine.Bandwidth()/1e9, on.Machine.Reached > 0
	for _, w := range work {
		seconds, waits := on.Machine.Least(w)
		least := Row{Category: w.Category, Limit: seconds * 1e6, Waits: waits, Bytes: w.Bytes, FLOPs: w.FLOPs}
		if !(seconds > 0) {
			continue
		}
		if w.Category == limit.Head {
			r.split(p, least.Limit)
		}
		i := r.row(w.Category)
		if i < 0 && w.Category == limit.Head {
			i = r.row(limit.Dense) // which it is part of, if nothing tells it apart
		}
		if i < 0 {
			r.Missing = append(r.Missing, least)
			continue
		}
		row := &r.Rows[i]
		if row.Limit < least.Limit {
			row.Waits = waits
		}
		row.Limit += least.Limit
		row.Bytes += least.Bytes
		row.FLOPs += least.FLOPs
	}
}

func (r *Roofline) row(category string) int {
	return slices.IndexFunc(r.Rows, func(row Row) bool { return row.Category == category })
}

// split separates the output projection from the dense matrices, if the profile does not:
// the one kernel among them that runs once per step, and takes as long as it must if that
// is known. If there are several nothing is split.
func (r *Roofline) split(p *profile.Part, least float64) {
	dense, steps := r.row(limit.Dense), float64(p.Steps)
	var found []profile.Kernel
	for _, k := range p.Kernels {
		if k.Category == limit.Dense && k.Count == p.Steps && k.Total/steps >= least {
			found = append(found, k)
		}
	}
	if r.row(limit.Head) >= 0 || dense < 0 || len(found) != 1 {
		return
	}
	took := found[0].Total / steps
	r.Rows[dense].Took -= took
	r.Rows = slices.Insert(r.Rows, dense+1, Row{Category: limit.Head, Kernel: found[0].Short, Took: took})
}
