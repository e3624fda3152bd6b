package profile

import (
	"cmp"
	"math"
	"slices"
)

// Diff compares two analyses, phase by phase.
type Diff struct {
	Format string     `json:"format"`
	Parts  []PartDiff `json:"parts"`
}

// PartDiff is one phase at one concurrency, in µs per step or, if Unit is empty, in
// total. The components of a step add up to it: the categories, less what streams did at
// the same time, the waits, and less what the profiler adds.
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
	// GPU is the sum of the categories.
	GPU        Change   `json:"gpu"`
	Categories []Change `json:"categories"`
	// Rest is what else makes up a step besides categories: RestOverlap, RestWaits,
	// RestProfiler.
	Rest    []Change `json:"rest,omitempty"`
	Kernels []Change `json:"kernels"`
	Waits   []Change `json:"waits,omitempty"`
}

// Components of a step that are not work of one category.
const (
	RestOverlap  = "overlap"
	RestWaits    = "waits"
	RestProfiler = "profiler"
)

// Change is one thing in both analyses.
type Change struct {
	Name  string `json:"name,omitempty"`
	Short string `json:"short,omitempty"`
	// Category is a kernel's.
	Category string  `json:"category,omitempty"`
	A        float64 `json:"a_us"`
	B        float64 `json:"b_us"`
	// CountA and CountB are launches, per unit.
	CountA float64 `json:"a_count,omitempty"`
	CountB float64 `json:"b_count,omitempty"`
	// Share is how much of the change of Step this explains; absent if Step is unknown or
	// hardly changed.
	Share *float64 `json:"share,omitempty"`
}

// Delta is how much longer B takes.
func (c Change) Delta() float64 { return c.B - c.A }

// leastChange is the minimum change of a step for its components to be related to it:
// shares of less are noise.
const leastChange = 0.005

// DiffOf compares the parts that both analyses have.
func DiffOf(a, b *Analysis) *Diff {
	d := &Diff{Format: "mxflow.profile-diff/1"}
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
	change := func(name string, x, y float64) Change { return Change{Name: name, A: x / na, B: y / nb} }
	d.GPU = change("", a.GPU, b.GPU)
	if a.Wall > 0 && b.Wall > 0 {
		step := change("", a.Wall, b.Wall)
		d.Step, d.Profiled = &step, true
		d.Rest = append(d.Rest, change(RestOverlap, a.Busy-a.GPU, b.Busy-b.GPU), change(RestWaits, a.Wall-a.Busy, b.Wall-b.Busy))
		// Known for a step in decoding, and for a whole prefill, which may be several
		// steps.
		one := a.Phase == Decode && d.Unit == "step" || a.Steps > 0 && a.Steps == a.GPUs && b.Steps == b.GPUs
		if one && a.Unprofiled > 0 && b.Unprofiled > 0 {
			plain := change("", a.Unprofiled*float64(a.Steps), b.Unprofiled*float64(b.Steps))
			d.Step, d.Profiled = &plain, false
			d.Rest = append(d.Rest, Change{Name: RestProfiler, A: plain.A - step.A, B: plain.B - step.B})
		}
	}
	categories := map[string]*Change{}
	for i, p := range []*Part{a, b} {
		for _, c := range p.Categories {
			if categories[c.Name] == nil {
				categories[c.Name] = &Change{Name: c.Name}
			}
			categories[c.Name].put(i, c.Total, c.Count, na, nb)
		}
	}
	for _, c := range categories {
		d.Categories = append(d.Categories, *c)
	}
	slices.SortFunc(d.Categories, func(x, y Change) int { return byOrder(x.Name, y.Name) })
	kernels := map[string]*Change{}
	for i, p := range []*Part{a, b} {
		for _, k := range p.Kernels {
			if kernels[k.Name] == nil {
				kernels[k.Name] = &Change{Name: k.Name, Short: k.Short, Category: k.Category}
			}
			kernels[k.Name].put(i, k.Total, k.Count, na, nb)
		}
	}
	for _, c := range kernels {
		d.Kernels = append(d.Kernels, *c)
	}
	waits := map[string]*Change{}
	for i, p := range []*Part{a, b} {
		for _, w := range p.Waits {
			if waits[w.Cause] == nil {
				waits[w.Cause] = &Change{Name: w.Cause}
			}
			waits[w.Cause].put(i, w.Total, w.Count, na, nb)
		}
	}
	for _, c := range waits {
		d.Waits = append(d.Waits, *c)
	}
	largest := func(x, y Change) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Delta()), math.Abs(x.Delta())), cmp.Compare(max(y.A, y.B), max(x.A, x.B)), cmp.Compare(x.Name, y.Name))
	}
	slices.SortFunc(d.Kernels, largest)
	slices.SortFunc(d.Waits, largest)
	d.explain()
	return d
}

func (c *Change) put(side int, us float64, count int, na, nb float64) {
	if side == 0 {
		c.A, c.CountA = us/na, float64(count)/na
		return
	}
	c.B, c.CountB = us/nb, float64(count)/nb
}

// explain sets the share of the step's change that each explains.
func (d *PartDiff) explain() {
	if d.Step == nil || math.Abs(d.Step.Delta()) < leastChange*d.Step.A {
		return
	}
	for _, changes := range [][]Change{d.Categories, d.Rest, d.Kernels, d.Waits} {
		for i := range changes {
			share := changes[i].Delta() / d.Step.Delta()
			changes[i].Share = &share
		}
	}
	gpu, all := d.GPU.Delta()/d.Step.Delta(), 1.0
	d.GPU.Share, d.Step.Share = &gpu, &all
}
