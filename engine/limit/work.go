package limit

import "github.com/mxflow/mxflow/engine/profile/symbol"

// Categories of a model's computation, under which a profile's kernels are sorted. What
// is in none, such as norms and sampling, reads and multiplies little, and has no known
// minimum time.
const (
	Dense     = symbol.DenseGEMM
	MoE       = symbol.MoE
	Attention = symbol.Attention
	// Head is the output projection, which profiles count among the dense matrices.
	Head = "lm_head"
)

// Work is the minimum that one category reads and multiplies.
type Work struct {
	Category string `json:"category"`
	// Bytes are those of weights, or of the KV cache in attention.
	Bytes float64 `json:"bytes"`
	FLOPs float64 `json:"flops"`
	// Bits is the width of the multiplied numbers.
	Bits int `json:"bits"`
}

// Decode is the work of a step that gives so many requests one token each, after so many
// tokens of context. Weights are read once for all of them; of experts, as many as they
// use on average.
func (m *Model) Decode(requests int, context float64) []Work {
	n := float64(requests)
	one := m.look(context)
	return m.of(
		work(Dense, m.Dense, 1, n*m.Dense.Params),
		work(MoE, m.Expert, m.distinct(requests), n*float64(m.Used)*m.Expert.Params),
		Work{Attention, n * one.Bytes, n * one.FLOPs, whole},
		work(Head, m.Head, 1, n*m.Head.Params),
	)
}

// Prefill is the work of so many prompts of equal length with so many tokens together.
// The weights are read once: engines that split prompts into chunks, or run prompts one
// after the other, read them more often.
func (m *Model) Prefill(prompts, tokens int) []Work {
	n := float64(tokens)
	// A token attends to those before it in its own prompt, on average to half of them.
	var seen float64
	for window, each := range m.Windows {
		seen += each.FLOPs * pairs(n/float64(max(prompts, 1)), float64(window))
	}
	return m.of(
		work(Dense, m.Dense, 1, n*m.Dense.Prompt),
		work(MoE, m.Expert, m.distinct(tokens), n*float64(m.Used)*m.Expert.Prompt),
		Work{Attention, 0, float64(max(prompts, 1)) * seen, whole},
		work(Head, m.Head, 1, float64(max(prompts, 1))*m.Head.Params),
	)
}

// pairs is how many tokens all tokens of a prompt attend to together: each to those up to
// itself, and at most to a window.
func pairs(length, window float64) float64 {
	if window <= 0 || window >= length {
		return length * (length + 1) / 2
	}
	return window*(window+1)/2 + (length-window)*window
}

// work is the work of a number of matrices with so many multiplied parameters.
func work(category string, w Weights, matrices, params float64) Work {
	return Work{category, matrices * w.Bytes, 2 * params, w.bits()}
}

// of leaves out what a model does not have.
func (m *Model) of(all ...Work) (has []Work) {
	for _, w := range all {
		if w.Bytes > 0 || w.FLOPs > 0 {
			has = append(has, w)
		}
	}
	return has
}

// total is the sum, without a width.
func total(all []Work) (sum Work) {
	for _, w := range all {
		sum.Bytes += w.Bytes
		sum.FLOPs += w.FLOPs
	}
	return sum
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
