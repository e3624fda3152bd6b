package roofline

import (
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/profile/symbol"
)

// Resource is what a step mostly waits for.
type Resource string

const (
	Host          Resource = "host" // no GPU works
	Memory        Resource = Resource(limit.Memory)
	Compute       Resource = Resource(limit.Compute)
	Communication Resource = symbol.Communication
	// Unknown is for insufficient evidence. It equals none of the others, so no rule
	// passes by it.
	Unknown Resource = "unknown"
)

// Why the evidence does not suffice.
const (
	NoLimit = "no_limit" // nothing says how long kernels must take
	Unseen  = "unseen"   // the model has kernels that the profile does not show
	Slowed  = "slowed"   // it depends on how much the profiler slowed the step down
	Mixed   = "mixed"    // nothing takes most of the step
	Untimed = "untimed"  // the profile has sums of kernels, and no step
)

// Bound is what bounds a step, and the deciding numbers: shares of the step.
type Bound struct {
	By Resource `json:"by"`
	// Why is set if By is Unknown.
	Why string `json:"why,omitempty"`
	// Idle is the time in which no GPU works.
	Idle          Span `json:"idle"`
	Communication Span `json:"communication"`
	// Memory and Compute are kernels bound by memory bandwidth or by the matrix units,
	// and Rest those without known limits.
	Memory  Span `json:"memory"`
	Compute Span `json:"compute"`
	Rest    Span `json:"rest"`
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
		return Bound{By: Unknown, Why: Untimed}
	}
	took, least := map[Resource]float64{}, map[Resource]float64{}
	for _, row := range r.Rows {
		by := Resource(row.Waits)
		if row.Category == string(Communication) {
			by = Communication
		}
		took[by] += row.Took
		least[by] += row.Limit
	}
	of := func(by Resource) Span { return Span{took[by] / r.Step.High, took[by] / r.Step.Low} }
	b := Bound{
		By:   Unknown,
		Idle: Span{max(0, 1-r.Busy/r.Step.Low), max(0, 1-r.Busy/r.Step.High)}, Communication: of(Communication),
		Memory: of(Memory), Compute: of(Compute), Rest: of(""),
	}
	possible := false
	for by, share := range map[Resource]Span{Host: b.Idle, Communication: b.Communication, Memory: b.Memory, Compute: b.Compute} {
		possible = possible || share.High > most
		if share.Low > most {
			b.By = by
		}
	}
	hidden, _ := r.took(symbol.Hidden)
	for _, row := range r.Missing {
		hidden += row.Limit
	}
	switch {
	case b.By == Host || b.By == Communication: // which no limit is needed for
	case hidden > unseen*r.Step.High:
		b.By, b.Why = Unknown, Unseen
	case b.By != Unknown:
		b.OfLimit = least[b.By] / took[b.By]
	case possible:
		b.Why = Slowed
	case len(took) > 0 && least[Memory]+least[Compute] == 0:
		b.Why = NoLimit
	default:
		b.Why = Mixed
	}
	return b
}
