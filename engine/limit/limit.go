// Package limit computes what a machine cannot exceed: from a model's config.json the
// bytes that a decode step reads and the operations that a prompt token takes, from the
// data sheets of GPUs how fast they read and multiply. It does not guess unknown values,
// and does not know engines or launches.
package limit

import (
	"fmt"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Basis is what is known before a launch is measured: the model, where its config.json
// was read, and the names of the GPUs that the engine may use, by UUID.
type Basis struct {
	Model  *Model
	Source string
	GPUs   map[string]string
}

// Machine is the GPUs of one launch together.
type Machine struct {
	GPUs []GPU
	Name string
}

// Of returns GPUs by their names. The error names an unknown one.
func Of(names []string) (m Machine, err error) {
	names = slices.Sorted(slices.Values(names))
	for first, i := 0, 0; i < len(names); i++ {
		g, known := gpus[names[i]]
		if !known {
			return Machine{}, fmt.Errorf("no data sheet for GPU %q", names[i])
		}
		m.GPUs = append(m.GPUs, g)
		if i+1 < len(names) && names[i+1] == names[i] {
			continue
		}
		if m.Name != "" {
			m.Name += ", "
		}
		m.Name += fmt.Sprintf("%d × %s", i+1-first, names[i])
		first = i + 1
	}
	return m, nil
}

func (m Machine) sum(of func(GPU) float64) (sum float64) {
	for _, g := range m.GPUs {
		sum += of(g)
	}
	return sum
}

// Bandwidth is how many bytes per second all GPUs read together.
func (m Machine) Bandwidth() float64 {
	return m.sum(func(g GPU) float64 { return g.Bandwidth })
}

func (m Machine) rate(bits int) float64 { return m.sum(func(g GPU) float64 { return g.rate(bits) }) }

// Categories of a model's computation, under which a profile's kernels are sorted. What
// is in none, such as norms and sampling, reads and multiplies little, and has no known
// minimum time.
const (
	Dense     = "dense_gemm"
	MoE       = "moe"
	Attention = "attention"
	// Head is the output projection, which profiles count among the dense matrices.
	Head = "lm_head"
)

// Work is the minimum that one category reads and multiplies.
type Work struct {
	Category string
	// Bytes are those of weights, or of the KV cache in attention.
	Bytes, FLOPs float64
	// Bits is the width of the multiplied numbers.
	Bits int
}

// Decode is the work of a step that gives so many requests one token each, after so many
// tokens of context. Weights are read once for all of them; of experts, as many as they
// use on average, if each token chooses k of E independently: E·(1 − (1 − k/E)^n).
func (m *Model) Decode(requests int, context float64) []Work {
	n, experts, used := float64(requests), float64(m.Experts), float64(m.Used)
	distinct := experts * (1 - math.Pow(1-used/max(experts, 1), n))
	var cache, attention float64
	for window, each := range sorted.All(m.Windows) {
		tokens := context
		if window > 0 {
			tokens = min(tokens, float64(window))
		}
		cache += each.Bytes * tokens
		attention += each.FLOPs * tokens
	}
	all := []Work{
		{Dense, m.Dense.Bytes, n * 2 * m.Dense.Params, m.Dense.bits()},
		{MoE, distinct * m.Expert.Bytes, n * 2 * used * m.Expert.Params, m.Expert.bits()},
		{Attention, n * cache, n * attention, whole},
		{Head, m.Head.Bytes, n * 2 * m.Head.Params, m.Head.bits()},
	}
	return slices.DeleteFunc(all, func(w Work) bool { return !(w.Bytes > 0) && !(w.FLOPs > 0) })
}

// Resource is what work is limited by if nothing else delays it.
type Resource string

const (
	Memory  Resource = "memory"  // the bandwidth of a GPU's memory
	Compute Resource = "compute" // the rate of its matrix units
)

// Least is the minimum duration of work in seconds, and what limits it then. 0 if the
// machine is unknown.
func (m Machine) Least(w Work) (seconds float64, waits Resource) {
	bandwidth, rate := m.Bandwidth(), m.rate(w.Bits)
	if !(bandwidth > 0) || !(rate > 0) {
		return 0, ""
	}
	read, multiplied := w.Bytes/bandwidth, w.FLOPs/rate
	if multiplied > read {
		return multiplied, Compute
	}
	return read, Memory
}

// Room is how far clocks may exceed those of a data sheet: boards boost by 8% beyond
// them, and owners raise memory clocks by 15% and more.
const Room = 1.2

// Limit is what a machine allows a cell that decodes so many requests at a time, each
// with so many tokens of context. It has two parts: what the machine allows a model in
// the formats of its config, with the experts that so many tokens use on average; and
// what no format, cache or routing exceeds.
func (m *Model) Limit(on Machine, requests int, context float64) *measure.Limit {
	bandwidth, step := on.Bandwidth(), 0.0
	for _, w := range m.Decode(requests, context) {
		step += w.Bytes
	}
	token := m.Dense.and(m.Head).and(m.Expert.times(float64(m.Used)))
	least := token.Least - on.sum(func(g GPU) float64 { return g.OnChip })
	if !(bandwidth > 0) || !(step > 0) || !(token.Prompt > 0) {
		return nil
	}
	bits := m.Dense.and(m.Head).and(m.Expert.times(float64(m.Experts))).bits()
	return &measure.Limit{
		Model: m.Type, Machine: on.Name, Requests: requests,
		BandwidthGBs: bandwidth / gb, StepGB: step / gb, LeastGB: max(0, least) / gb,
		Bits: bits, TFLOPs: on.rate(bits) / tf, MostTFLOPs: on.sum(GPU.fastest) / tf,
		PromptGFLOP: 2 * token.Prompt / gb, Room: Room,
	}
}
