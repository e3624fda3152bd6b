// Package trace analyses a profile of an engine, whatever profiler wrote it: which
// kernels ran and how long, in prefill and in decoding, and how long the GPU waited. It
// does not know engines, plans or rules.
package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Format is the version of an analysis as JSON.
const Format = "mxflow.profile/1"

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

type File struct {
	Name   string `json:"name"`
	Digest string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Kind is the format: torch, nsys-csv, kernel-summary.
	Kind string `json:"kind"`
	// Processes are the processes with kernels, by name if they have one.
	Processes []string `json:"processes,omitempty"`
	// Hidden is how many launches of CUDA graphs have kernels that the profile does not
	// name.
	Hidden int `json:"hidden_graphs,omitempty"`
}

// Part is one phase of an engine's work at one concurrency. Times are in µs, summed over
// all steps and GPUs.
type Part struct {
	Phase string `json:"phase"`
	// Requests is how many were served at once, 0 if unknown.
	Requests int `json:"requests,omitempty"`
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
	// Layers are the model's, of kernels that were launched within one that the profile
	// marks.
	Layers []Category `json:"layers,omitempty"`
	// Kernels are the kernels that ran, by total time, longest first.
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

// Conversions is how long kernels took that convert between formats of numbers, whatever
// category they are in.
func (p *Part) Conversions() (us float64, count int) {
	for _, k := range p.Kernels {
		if symbol.Match("conversion", k.Name) {
			us, count = us+k.Total, count+k.Count
		}
	}
	return us, count
}

// Join merges several analyses into one: of the files of one capture, one per GPU or
// process, or of windows, one per phase. Parts of one phase and concurrency become one.
func Join(all ...*Analysis) *Analysis {
	out := &Analysis{Format: Format}
	merged := sums{}
	for _, a := range all {
		out.Files = append(out.Files, a.Files...)
		for i := range a.Parts {
			p := &a.Parts[i]
			s := merged.of(p.Phase, p.Requests)
			s.GPUs += p.GPUs
			s.Steps += p.Steps
			s.Tokens += p.Tokens
			s.Unprofiled = cmp.Or(s.Unprofiled, p.Unprofiled)
			s.Wall += 1e3 * p.Wall
			s.Busy += 1e3 * p.Busy
			for _, k := range p.Kernels {
				s.kernel(k, k.Count, 1e3*k.Total)
			}
			for _, l := range p.Layers {
				s.layer(l.Name, l.Count, 1e3*l.Total)
			}
			for _, w := range p.Waits {
				s.waits[w.Cause] += 1e3 * w.Total
			}
			for _, t := range p.Threads {
				s.threads[t.Name] += 1e3 * t.Total
			}
		}
	}
	out.Parts = merged.parts()
	return out
}

// sum is a part being summed, with times in ns, rounded to whole ones at the end.
type sum struct {
	Part
	kernels        map[string]*Kernel
	layers         map[string]Category
	waits, threads map[string]float64
	// gpus are the GPUs that it covers; uncounted is set if a step does not say its
	// tokens.
	gpus      map[*gpu]bool
	uncounted bool
}

// sums are the parts of an analysis by phase and requests.
type sums map[partKey]*sum

type partKey struct {
	phase    string
	requests int
}

func (all sums) of(phase string, requests int) *sum {
	key := partKey{phase, requests}
	if all[key] == nil {
		all[key] = &sum{
			Part: Part{Phase: phase, Requests: requests}, kernels: map[string]*Kernel{}, layers: map[string]Category{},
			waits: map[string]float64{}, threads: map[string]float64{}, gpus: map[*gpu]bool{},
		}
	}
	return all[key]
}

func (s *sum) kernel(k Kernel, count int, ns float64) {
	had := s.kernels[k.Name]
	if had == nil {
		had = &Kernel{Name: k.Name, Short: k.Short, Category: k.Category}
		s.kernels[k.Name] = had
	}
	had.Count += count
	had.Total += ns
}

func (s *sum) layer(name string, count int, ns float64) {
	l := s.layers[name]
	s.layers[name] = Category{name, l.Count + count, l.Total + ns}
}

// parts are all of them in the order of phases and of requests, each with the largest
// first.
func (all sums) parts() (parts []Part) {
	us := func(ns float64) float64 { return math.Round(ns) / 1e3 }
	for _, s := range all {
		p := s.Part
		categories := map[string]Category{}
		for _, k := range sorted.All(s.kernels) {
			c := categories[k.Category]
			categories[k.Category] = Category{k.Category, c.Count + k.Count, c.Total + k.Total}
			p.GPU += k.Total
			p.Kernels = append(p.Kernels, Kernel{k.Name, k.Short, k.Category, k.Count, us(k.Total)})
		}
		p.Wall, p.Busy, p.GPU = us(p.Wall), us(p.Busy), us(p.GPU)
		for _, c := range categories {
			p.Categories = append(p.Categories, Category{c.Name, c.Count, us(c.Total)})
		}
		for _, l := range s.layers {
			p.Layers = append(p.Layers, Category{l.Name, l.Count, us(l.Total)})
		}
		for cause, ns := range s.waits {
			if ns > 0 {
				p.Waits = append(p.Waits, Wait{cause, us(ns)})
			}
		}
		for name, ns := range s.threads {
			if ns > 0 {
				p.Threads = append(p.Threads, Thread{name, us(ns)})
			}
		}
		slices.SortFunc(p.Categories, func(a, b Category) int { return byOrder(a.Name, b.Name) })
		slices.SortFunc(p.Layers, func(a, b Category) int { // layer 2 before layer 10
			return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
		})
		slices.SortFunc(p.Kernels, func(a, b Kernel) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
		})
		slices.SortFunc(p.Waits, func(a, b Wait) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Cause, b.Cause))
		})
		slices.SortFunc(p.Threads, func(a, b Thread) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
		})
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(slices.Index(Phases, a.Phase), slices.Index(Phases, b.Phase)),
			cmp.Compare(a.Requests, b.Requests))
	})
	return parts
}

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
