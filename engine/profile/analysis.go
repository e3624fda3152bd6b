// Package profile interprets a profile of an engine, whatever profiler wrote it: which
// kernels ran and how long, in prefill and in decoding, and how long the GPU waited. The
// formats are in rooms below. It does not know engines, plans, rules or what follows from
// an analysis.
package profile

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/profile/symbol"
)

// Format is the version of an analysis as JSON.
const Format = "mxflow.profile/1"

// Phases of a part.
const (
	Prefill = "prefill"
	Decode  = "decode"
	// Mixed is for steps with tokens of prompts and of answers.
	Mixed = "mixed"
	// Whole is everything in a profile without information about its steps.
	Whole = "whole"
)

// Phases are all of them, in the order of parts.
var Phases = []string{Prefill, Decode, Mixed, Whole}

// Analysis is what one profile, of one or more files, shows about an engine. It has the
// same form for all engines and profilers, so two can be compared.
type Analysis struct {
	Format string `json:"format"`
	Files  []File `json:"files"`
	Parts  []Part `json:"parts"`
}

// File is one of the analysed files.
type File struct {
	Name   string `json:"name"`
	Digest string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Kind is the format: torch, nsys-csv, kernel-summary.
	Kind string `json:"kind"`
	// Processes are those that have kernels, by name if they have one.
	Processes []string `json:"processes,omitempty"`
	// Hidden is how many launches of CUDA graphs have kernels that the profile does not
	// name.
	Hidden int `json:"hidden_graphs,omitempty"`
	// Unnamed is how many kernels ran whose names are too many to keep. One not found
	// among the others may be one of them.
	Unnamed int `json:"unnamed_kernels,omitempty"`
}

// Part is one phase of an engine's work at one concurrency. Times are in µs, summed over
// all steps and GPUs.
type Part struct {
	Phase string `json:"phase"`
	// Requests is how many were served at once, 0 if unknown.
	Requests int `json:"requests,omitempty"`
	// Batch is set if Requests were sent at once and are those of all steps together,
	// however an engine took them: in one step or several.
	Batch bool `json:"batch,omitempty"`
	// GPUs is how many the part covers. Each counts its own steps and tokens, so values
	// per step are of one GPU.
	GPUs int `json:"gpus,omitempty"`
	// Steps is how many times the model ran, and Tokens how many tokens it computed: of
	// prompts in prefill, of answers in decoding. 0 if unknown.
	Steps  int `json:"steps,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Wall is from the start of each step to the start of the next, or to its last work
	// if none follows immediately; Busy the time in which a GPU worked at anything, the
	// union over streams, and GPU the sum over kernels and copies, which is more if
	// streams overlap. Wall and Busy are 0 if a profile only has sums.
	Wall float64 `json:"wall_us"`
	Busy float64 `json:"busy_us"`
	GPU  float64 `json:"gpu_us"`
	// Unprofiled is how long a step took by the client's clock without the profiler, the
	// mean for a prefill's. The capturing code sets it; 0 if unknown.
	Unprofiled float64 `json:"unprofiled_step_us,omitempty"`
	// Categories add up to GPU, in the order of symbol.Categories.
	Categories []Category `json:"categories"`
	// Kernels are those that ran, by total time, longest first.
	Kernels []Kernel `json:"kernels"`
	// Waits are why no GPU worked in the time between Busy and Wall, longest first.
	Waits []Wait `json:"waits,omitempty"`
	// Threads are the host's threads, busiest first.
	Threads []Thread `json:"threads,omitempty"`
}

// Category is one kind of work on a GPU.
type Category struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Total float64 `json:"us"`
}

// Kernel is one symbol: Name in full, Short as shown everywhere.
type Kernel struct {
	Name     string  `json:"name"`
	Short    string  `json:"short"`
	Category string  `json:"category"`
	Count    int     `json:"count"`
	Total    float64 `json:"us"`
}

// Wait is time in which no GPU worked, by the host's activity then.
type Wait struct {
	Cause string  `json:"cause"`
	Count int     `json:"count"`
	Total float64 `json:"us"`
}

// Thread is one of the host, and how long it was busy within the part.
type Thread struct {
	Name  string  `json:"name"`
	Total float64 `json:"us"`
}

// Per is a time of the part per token of each request: µs per step in decoding, µs per
// token in prefill. Known is false if the profile does not say how many there were.
func (p *Part) Per(us float64) (per float64, known bool) {
	n := p.Steps
	if p.Phase == Prefill {
		n = p.Tokens
	}
	if n <= 0 {
		return 0, false
	}
	return us / float64(n), true
}

// Step is a time of the part per step. Known is false if the profile does not say how
// many there were.
func (p *Part) Step(us float64) (per float64, known bool) {
	if p.Steps <= 0 {
		return 0, false
	}
	return us / float64(p.Steps), true
}

// Count is how many kernels and copies ran.
func (p *Part) Count() (n int) {
	for _, c := range p.Categories {
		n += c.Count
	}
	return n
}

// Join merges several analyses into one: of the files of one capture, one per GPU or
// process, or of windows, one per phase. Parts of one phase and concurrency become one.
func Join(all ...*Analysis) *Analysis {
	out := &Analysis{Format: Format}
	merged := map[partKey]*partSum{}
	for _, a := range all {
		out.Files = append(out.Files, a.Files...)
		for i := range a.Parts {
			p := &a.Parts[i]
			key := partKey{p.Phase, p.Requests}
			if merged[key] == nil {
				merged[key] = newPartSum(key)
			}
			merged[key].add(p)
		}
	}
	for _, sum := range merged {
		out.Parts = append(out.Parts, sum.part())
	}
	order(out.Parts)
	return out
}

// order puts parts into the order of phases and of requests.
func order(parts []Part) {
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(slices.Index(Phases, a.Phase), slices.Index(Phases, b.Phase)), cmp.Compare(a.Requests, b.Requests))
	})
}

// partKey identifies parts that are merged.
type partKey struct {
	phase    string
	requests int
}

// partSum is a part being summed.
type partSum struct {
	p       Part
	kernels map[string]*Kernel
	waits   map[string]*Wait
	threads map[string]float64
}

func newPartSum(key partKey) *partSum {
	return &partSum{p: Part{Phase: key.phase, Requests: key.requests}, kernels: map[string]*Kernel{}, waits: map[string]*Wait{}, threads: map[string]float64{}}
}

func (s *partSum) add(p *Part) {
	s.p.Batch = s.p.Batch || p.Batch
	s.p.GPUs += p.GPUs
	s.p.Steps += p.Steps
	s.p.Tokens += p.Tokens
	s.p.Wall += p.Wall
	s.p.Busy += p.Busy
	s.p.Unprofiled = cmp.Or(s.p.Unprofiled, p.Unprofiled)
	for _, k := range p.Kernels {
		s.kernel(k)
	}
	for _, w := range p.Waits {
		s.wait(w)
	}
	for _, t := range p.Threads {
		s.threads[t.Name] += t.Total
	}
}

func (s *partSum) kernel(k Kernel) {
	if k.Count == 0 {
		return
	}
	if had := s.kernels[k.Name]; had != nil {
		had.Count += k.Count
		had.Total += k.Total
		return
	}
	s.kernels[k.Name] = &k
}

func (s *partSum) wait(w Wait) {
	if had := s.waits[w.Cause]; had != nil {
		had.Count += w.Count
		had.Total += w.Total
		return
	}
	s.waits[w.Cause] = &w
}

// part is the sum, in reading order.
func (s *partSum) part() Part {
	p := s.p
	byCategory := map[string]*Category{}
	for _, k := range s.kernels {
		k.Total = exact(k.Total)
		p.Kernels = append(p.Kernels, *k)
	}
	slices.SortFunc(p.Kernels, func(a, b Kernel) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	for _, k := range p.Kernels {
		p.GPU += k.Total
		if byCategory[k.Category] == nil {
			byCategory[k.Category] = &Category{Name: k.Category}
		}
		byCategory[k.Category].Count += k.Count
		byCategory[k.Category].Total += k.Total
	}
	p.Wall, p.Busy, p.GPU = exact(p.Wall), exact(p.Busy), exact(p.GPU)
	for _, c := range byCategory {
		c.Total = exact(c.Total)
		p.Categories = append(p.Categories, *c)
	}
	slices.SortFunc(p.Categories, func(a, b Category) int { return byOrder(a.Name, b.Name) })
	for _, w := range s.waits {
		w.Total = exact(w.Total)
		p.Waits = append(p.Waits, *w)
	}
	slices.SortFunc(p.Waits, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Cause, b.Cause))
	})
	for name, us := range s.threads {
		p.Threads = append(p.Threads, Thread{name, exact(us)})
	}
	slices.SortFunc(p.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// exact is a sum of times in µs at the profile's resolution, whole ns.
func exact(us float64) float64 { return math.Round(1e3*us) / 1e3 }

// byOrder compares names of categories: ours in order, followed by a plan's.
func byOrder(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(symbol.Categories, name); i >= 0 {
			return i
		}
		return len(symbol.Categories)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}
