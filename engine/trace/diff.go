package trace

import (
	"cmp"
	"math"
	"slices"
)

type Diff struct {
	Format string     `json:"format"`
	Parts  []PartDiff `json:"parts"`
}

// PartDiff is one phase at one concurrency, in µs per step or, if Unit is empty, in
// total.
type PartDiff struct {
	Phase    string `json:"phase"`
	Requests int    `json:"requests,omitempty"`
	// Unit is "step" or "token"; empty if either analysis does not say how many there
	// were, and times are totals.
	Unit string `json:"unit,omitempty"`
	// Step is the end-to-end time of one: without the profiler if both analyses know
	// that, else with it; absent if neither does.
	Step *Change `json:"step,omitempty"`
	// Profiled is set if Step includes the profiler.
	Profiled bool `json:"profiled,omitempty"`
	// Changes are everything that either has, in the order of kinds. Categories and the rest
	// add up to a step.
	Changes []Change `json:"changes"`
}

// Kinds of changes: categories of work, their sum, what else makes up a step, kernels and
// waits.
const (
	OfCategory = "category"
	OfGPU      = "gpu"
	OfRest     = "rest"
	OfKernel   = "kernel"
	OfWait     = "wait"
)

// Components of a step that are not work of one category.
const (
	RestOverlap  = "overlap" // less what streams did at the same time
	RestWaits    = "waits"
	RestProfiler = "profiler" // less what the profiler adds
)

// Change is one thing in both analyses.
type Change struct {
	Kind  string  `json:"kind,omitempty"`
	Name  string  `json:"name,omitempty"`
	Short string  `json:"short,omitempty"`
	A     float64 `json:"a_us"`
	B     float64 `json:"b_us"`
	// Share is how much of the change of Step this explains; absent if Step is unknown or
	// hardly changed.
	Share *float64 `json:"share,omitempty"`
}

// Delta is how much longer B takes.
func (c Change) Delta() float64 { return c.B - c.A }

// leastChange is the minimum change of a step for its components to be related to it:
// shares of less are noise.
const leastChange = 0.005

func DiffOf(a, b *Analysis) *Diff {
	d := &Diff{Format: "mxflow.profile-diff/2"}
	for i := range a.Parts {
		for j := range b.Parts {
			pa, pb := &a.Parts[i], &b.Parts[j]
			if pa.Phase == pb.Phase && pa.Requests == pb.Requests {
				d.Parts = append(d.Parts, diffPart(pa, pb))
			}
		}
	}
	return d
}

func diffPart(a, b *Part) PartDiff {
	d := PartDiff{Phase: a.Phase, Requests: a.Requests}
	na, nb := 1.0, 1.0
	switch {
	case a.Phase == Prefill && a.Tokens > 0 && b.Tokens > 0:
		d.Unit, na, nb = "token", float64(a.Tokens), float64(b.Tokens)
	case a.Steps > 0 && b.Steps > 0:
		d.Unit, na, nb = "step", float64(a.Steps), float64(b.Steps)
	}
	at := map[[2]string]int{}
	add := func(kind, name, short string, x, y float64) {
		key := [2]string{kind, name}
		i, known := at[key]
		if !known {
			i = len(d.Changes)
			at[key] = i
			d.Changes = append(d.Changes, Change{Kind: kind, Name: name, Short: short})
		}
		d.Changes[i].A += x / na
		d.Changes[i].B += y / nb
	}
	for _, side := range []struct {
		of   *Part
		x, y float64
	}{{a, 1, 0}, {b, 0, 1}} {
		for _, c := range side.of.Categories {
			add(OfCategory, c.Name, "", side.x*c.Total, side.y*c.Total)
		}
		for _, k := range side.of.Kernels {
			add(OfKernel, k.Name, k.Short, side.x*k.Total, side.y*k.Total)
		}
		for _, w := range side.of.Waits {
			add(OfWait, w.Cause, "", side.x*w.Total, side.y*w.Total)
		}
	}
	add(OfGPU, OfGPU, "", a.GPU, b.GPU)
	if a.Wall > 0 && b.Wall > 0 {
		d.Step, d.Profiled = &Change{A: a.Wall / na, B: b.Wall / nb}, true
		add(OfRest, RestOverlap, "", a.Busy-a.GPU, b.Busy-b.GPU)
		add(OfRest, RestWaits, "", a.Wall-a.Busy, b.Wall-b.Busy)
		// Known for a step in decoding, and for a whole prefill, which may be several
		// steps.
		one := a.Phase == Decode && d.Unit == "step" || a.Steps > 0 && a.Steps == a.GPUs && b.Steps == b.GPUs
		if one && a.Unprofiled > 0 && b.Unprofiled > 0 {
			x, y := a.Unprofiled*float64(a.Steps), b.Unprofiled*float64(b.Steps)
			d.Step, d.Profiled = &Change{A: x / na, B: y / nb}, false
			add(OfRest, RestProfiler, "", x-a.Wall, y-b.Wall)
		}
	}
	kinds := []string{OfCategory, OfGPU, OfRest, OfKernel, OfWait}
	slices.SortStableFunc(d.Changes, func(x, y Change) int {
		switch {
		case x.Kind != y.Kind:
			return cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind))
		case x.Kind == OfCategory:
			return byOrder(x.Name, y.Name)
		case x.Kind == OfRest:
			return 0
		}
		return cmp.Or(cmp.Compare(math.Abs(y.Delta()), math.Abs(x.Delta())), cmp.Compare(max(y.A, y.B), max(x.A, x.B)),
			cmp.Compare(x.Name, y.Name))
	})
	if d.Step == nil || math.Abs(d.Step.Delta()) < leastChange*d.Step.A {
		return d
	}
	all := 1.0
	d.Step.Share = &all
	for i := range d.Changes {
		share := d.Changes[i].Delta() / d.Step.Delta()
		d.Changes[i].Share = &share
	}
	return d
}
