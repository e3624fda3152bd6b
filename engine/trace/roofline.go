package trace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/trace/symbol"
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

// Roofline compares one part of a profile with the machine's limits. Times are in µs per
// step: of decoding, or of one pass over prompts, which has no limits.
type Roofline struct {
	Phase    string `json:"phase"`
	Requests int    `json:"requests,omitempty"`
	// Model and Machine are what its limits refer to, with the data sheets' bandwidth in
	// GB/s. All are empty if there is no limit.
	Model     string  `json:"model,omitempty"`
	Machine   string  `json:"machine,omitempty"`
	Bandwidth float64 `json:"bandwidth_gb_s,omitempty"`
	Context   float64 `json:"context,omitempty"`
	// Step is the end-to-end time of one without a profiler: a span if that was not
	// measured, and 0 if the profile only has sums of kernels.
	Step Span `json:"step_us"`
	// Busy is how long the GPU works at anything during that; the sum of all kernels if the
	// profile only has sums.
	Busy float64 `json:"busy_us"`
	// Rows are the categories, in the profile's order, and Missing those in the model's
	// config that the profile does not have.
	Rows    []Row `json:"categories"`
	Missing []Row `json:"missing,omitempty"`
	Bound   Bound `json:"bound"`
}

// Row is one category: its time, the minimum and what limits that, 0 if unknown.
type Row struct {
	Category string `json:"category"`
	// Kernel is the row's kernel, if it is not all of a category.
	Kernel string         `json:"kernel,omitempty"`
	Took   float64        `json:"us"`
	Limit  float64        `json:"limit_us,omitempty"`
	Waits  limit.Resource `json:"waits,omitempty"`
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

// Why a part cannot be laid out by steps.
var (
	ErrWhole        = errors.New("the profile does not separate prefill from decode")
	ErrUncounted    = errors.New("the profile does not have the number of steps")
	ErrInconsistent = errors.New("its times are contradictory")
)

// stretch is the maximum factor by which a profiler lengthens a step. One that traces
// CUDA graphs lengthened steps of vLLM by 26%; one that records each Python operation
// takes longer.
const stretch = 2

// RooflineOf compares one part of a profile with a machine and a model.
func RooflineOf(p *Part, on Basis) (*Roofline, error) {
	if p.Phase != Decode && p.Phase != Prefill {
		return nil, ErrWhole
	}
	if p.Steps <= 0 {
		return nil, ErrUncounted
	}
	steps := float64(p.Steps)
	r := &Roofline{
		Phase: p.Phase, Requests: p.Requests,
		Step: Span{max(p.Busy, p.Wall/stretch) / steps, p.Wall / steps}, Busy: p.Busy / steps,
	}
	if p.Unprofiled > 0 {
		r.Step = Span{p.Unprofiled, p.Unprofiled}
	}
	times := []float64{p.GPU, r.Busy, r.Step.Low, r.Step.High}
	if p.Busy == 0 && p.Wall == 0 {
		r.Busy, times = p.GPU/steps, times[:1] // a profile of sums
	}
	if slices.ContainsFunc(times, func(x float64) bool { return !(x > 0) }) || r.Step.Low > r.Step.High {
		return nil, fmt.Errorf("%w: a GPU is busy for %g µs, with activities for %g µs, of %g µs", ErrInconsistent,
			p.Busy, p.GPU, p.Wall)
	}
	for _, c := range p.Categories {
		r.Rows = append(r.Rows, Row{Category: c.Name, Took: c.Total / steps})
		times = append(times, c.Total)
	}
	if slices.ContainsFunc(times, func(x float64) bool { return !(x >= 0 && x < 1e18) }) {
		return nil, fmt.Errorf("%w: one is no number, or absurd", ErrInconsistent)
	}
	r.limit(p, on)
	r.Bound = boundOf(r)
	for i, row := range r.Rows {
		if r.Timed() && row.Limit > 0 && row.Took > row.Limit {
			r.Rows[i].Gain = r.gain(row.Took - row.Limit)
		}
	}
	return r, nil
}

// limit adds the rows' minimum times of decoding.
func (r *Roofline) limit(p *Part, on Basis) {
	if on.Model == nil || p.Phase != Decode || p.Requests <= 0 || p.Tokens < p.Steps || p.GPUs > 0 &&
		p.GPUs != len(on.Machine.GPUs) {
		r.split(p, 0)
		return // or which part of the weights each GPU has is unknown
	}
	r.Context = on.Context
	r.Model, r.Machine = on.Model.Type, on.Machine.Name
	r.Bandwidth = on.Machine.Bandwidth() / 1e9
	for _, w := range on.Model.Decode(r.Requests, on.Context) {
		seconds, waits := on.Machine.Least(w)
		if !(seconds > 0) {
			continue
		}
		least := Row{Category: w.Category, Limit: seconds * 1e6, Waits: waits}
		i := r.row(w.Category)
		if w.Category == limit.Head {
			r.split(p, least.Limit)
			if i = r.row(limit.Head); i < 0 {
				i = r.row(limit.Dense) // which it is part of, if nothing tells it apart
			}
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
	}
}

func (r *Roofline) row(category string) int {
	return slices.IndexFunc(r.Rows, func(row Row) bool { return row.Category == category })
}

// split separates the output projection from the dense matrices, if the profile does not:
// the one kernel among them that runs once per step, and takes as long as it must if that
// is known. If there are several nothing is split.
func (r *Roofline) split(p *Part, least float64) {
	dense, steps := r.row(limit.Dense), float64(p.Steps)
	var once []Kernel
	for _, k := range p.Kernels {
		if k.Category == limit.Dense && k.Count == p.Steps && k.Total/steps >= least {
			once = append(once, k)
		}
	}
	if r.row(limit.Head) >= 0 || dense < 0 || len(once) != 1 {
		return
	}
	took := once[0].Total / steps
	r.Rows[dense].Took -= took
	r.Rows = slices.Insert(r.Rows, dense+1, Row{Category: limit.Head, Kernel: once[0].Short, Took: took})
}

// Gain is how much faster a step becomes at most if kernels take less time, by Amdahl's
// law: if all that they save is saved from end to end. A change of 0.1 is 10% more steps
// per second.
type Gain struct {
	// Saved is how many µs less the kernels take.
	Saved float64 `json:"saved_us"`
	Most  float64 `json:"most"`
	// Open is set if nothing bounds the gain: nothing of the step would be left, as with
	// overlapping streams.
	Open bool `json:"open,omitempty"`
}

func (r *Roofline) gain(saved float64) *Gain {
	if left := r.Step.Low - saved; left > 0 {
		return &Gain{Saved: saved, Most: saved / left}
	}
	return &Gain{Saved: saved, Open: true}
}

// Claim is the factor by which the time of categories is divided: 1.5 is 1.5 times as
// fast. None is below 1.
type Claim map[string]float64

// Gain is a step's gain if kernels become faster as claimed. Unknown are categories of the
// claim that the profile does not have.
func (r *Roofline) Gain(c Claim) (g Gain, unknown []string) {
	var saved float64
	for _, category := range slices.Sorted(maps.Keys(c)) {
		var took float64
		for _, row := range r.Rows {
			// The output projection is one of the dense matrices, unless it has its own claim.
			part := row.Kernel != "" && category == limit.Dense && !(c[limit.Head] >= 1)
			if row.Category == category || part {
				took += row.Took
			}
		}
		if !(took > 0) || !(c[category] >= 1) {
			unknown = append(unknown, category)
			continue
		}
		saved += took * (1 - 1/c[category])
	}
	return *r.gain(saved), unknown
}

// BoundBy is what a step mostly waits for.
type BoundBy string

const (
	BoundHost          BoundBy = "host" // no GPU works
	BoundMemory        BoundBy = BoundBy(limit.Memory)
	BoundCompute       BoundBy = BoundBy(limit.Compute)
	BoundCommunication BoundBy = symbol.Communication
	BoundRest          BoundBy = "rest" // kernels without a known limit, which bound nothing
	// BoundUnknown is for insufficient evidence. It equals none of the others, so no rule
	// passes by it.
	BoundUnknown BoundBy = "unknown"
)

// Why the evidence does not suffice.
const (
	NoLimit = "no_limit" // nothing says how long kernels must take
	Unseen  = "unseen"   // the model has kernels that the profile does not show
	NoMost  = "mixed"    // nothing takes most of the step for sure, however slow the profiler made it
	Untimed = "untimed"  // the profile has sums of kernels, and no step
)

type Bound struct {
	By BoundBy `json:"by"`
	// Why is set if By is unknown.
	Why string `json:"why,omitempty"`
	// Shares are the deciding numbers, shares of the step: without a working GPU, of
	// communication, of kernels limited by memory bandwidth or by the matrix units, and of
	// those without known limits.
	Shares map[BoundBy]Span `json:"shares,omitempty"`
	// OfLimit is the share of the limit reached by the kernels that By refers to: far
	// below 1 they wait for something that a better kernel would not.
	OfLimit float64 `json:"of_limit,omitempty"`
}

const (
	// most is the share of a step that must wait for one resource for the step to be
	// bound by it.
	most = 0.5
	// unseen is the share of a step that kernels missing from the profile may have to
	// take.
	unseen = 0.02
)

// boundOf determines what takes most of a step, if that is the same at both ends of its
// known duration.
func boundOf(r *Roofline) Bound {
	if !r.Timed() {
		return Bound{By: BoundUnknown, Why: Untimed}
	}
	took, least, hidden := map[BoundBy]float64{}, map[BoundBy]float64{}, 0.0
	for _, row := range r.Rows {
		by := cmp.Or(BoundBy(row.Waits), BoundRest)
		switch row.Category {
		case symbol.Communication:
			by = BoundCommunication
		case symbol.Hidden:
			hidden += row.Took
		}
		took[by] += row.Took
		least[by] += row.Limit
	}
	for _, row := range r.Missing {
		hidden += row.Limit
	}
	b := Bound{By: BoundUnknown, Shares: map[BoundBy]Span{
		BoundHost: {max(0, 1-r.Busy/r.Step.Low), max(0, 1-r.Busy/r.Step.High)},
	}}
	for _, by := range []BoundBy{BoundCommunication, BoundMemory, BoundCompute, BoundRest} {
		b.Shares[by] = Span{took[by] / r.Step.High, took[by] / r.Step.Low}
	}
	for _, by := range []BoundBy{BoundCompute, BoundMemory, BoundCommunication, BoundHost} {
		if b.Shares[by].Low > most {
			b.By = by
		}
	}
	switch {
	case b.By == BoundHost || b.By == BoundCommunication: // which no limit is needed for
	case hidden > unseen*r.Step.High:
		b.By, b.Why = BoundUnknown, Unseen
	case b.By != BoundUnknown:
		b.OfLimit = least[b.By] / took[b.By]
	case least[BoundMemory]+least[BoundCompute] == 0:
		b.Why = NoLimit
	default:
		b.Why = NoMost
	}
	return b
}
