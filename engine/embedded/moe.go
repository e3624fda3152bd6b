package embedded

import (
	"math"

	"github.com/viterin/vek/vek32"
)

// The SwiGLU of gpt-oss: gate and up are clamped, the gate's sigmoid is
// steeper than in SiLU, and up is shifted by one.
const (
	swigluLimit = 7.0
	swigluAlpha = 1.702
)

// clampedSwiGLU is min(gate, 7) * sigmoid(1.702 * min(gate, 7)) *
// (clamp(up, -7, 7) + 1).
func clampedSwiGLU(gate, up float32) float32 {
	gate = min(gate, swigluLimit)
	up = max(-swigluLimit, min(up, swigluLimit))
	sigmoid := float32(1 / (1 + math.Exp(-swigluAlpha*float64(gate))))
	return gate * sigmoid * (up + 1)
}

// route computes the router logits of a normalised token and writes the
// weight of each expert into mix: the softmax over the top k logits, zero
// elsewhere.
func (m *Model) route(mix, x []float32, layer int) {
	s, l := m.shape, &m.weights.layers[layer]
	for e := range mix {
		mix[e] = vek32.Dot(l.router.row(e), x) + l.routerBias[e]
	}
	topKSoftmax(mix, s.expertsPerTok)
}

// topKSoftmax replaces logits by the softmax over the k largest, zero
// elsewhere; the lower index wins a tie. NaN logits stay NaN in k of the
// places, so that a poisoned token stays poisoned.
func topKSoftmax(logits []float32, k int) {
	var chosen [hintCount]bool
	var sum float32
	largest := float32(0)
	for pick := range k {
		best := -1
		for e, x := range logits {
			if !chosen[e] && (best < 0 || x > logits[best]) {
				best = e
			}
		}
		if pick == 0 {
			largest = logits[best]
		}
		chosen[best] = true
	}
	for e, x := range logits {
		logits[e] = 0
		if chosen[e] {
			logits[e] = float32(math.Exp(float64(x - largest)))
			sum += logits[e]
		}
	}
	for e := range logits {
		if chosen[e] {
			logits[e] /= sum
		}
	}
}

// mixture adds the experts of one layer to the residual of tokens lo to hi.
// Both paths go through the experts in index order, so that they add the same
// numbers in the same order: the dense one adds zeros besides.
func (m *Model) mixture(ws *workspace, layer, lo, hi, worker int) {
	s, l, own := m.shape, &m.weights.layers[layer], &ws.workers[worker]
	for t := lo; t < hi; t++ {
		rmsNorm(ws.normed.row(t), ws.residual.row(t), l.moeNorm, s.normEpsilon)
		m.route(ws.mix.row(t), ws.normed.row(t), layer)
	}
	for e := range s.experts {
		own.members = own.members[:0]
		for t := lo; t < hi; t++ {
			if m.config.MoE == MoEAll || ws.mix.row(t)[e] != 0 {
				own.members = append(own.members, t)
			}
		}
		if len(own.members) > 0 {
			m.expert(ws, own, &l.experts[e], e)
		}
	}
}

// expert runs one expert on a worker's member tokens. A weight row is
// dequantised once for all of them, which is what makes long batches cheap.
func (m *Model) expert(ws *workspace, own *workerSpace, x *expertWeights, e int) {
	row := own.row[:m.shape.hidden]
	for i := range m.shape.intermediate {
		x.gateUp.row(2*i, row)
		for j, t := range own.members {
			own.gates[j] = vek32.Dot(row, ws.normed.row(t)) + x.gateUpBias[2*i]
		}
		x.gateUp.row(2*i+1, row)
		for j, t := range own.members {
			up := vek32.Dot(row, ws.normed.row(t)) + x.gateUpBias[2*i+1]
			ws.activated.row(t)[i] = clampedSwiGLU(own.gates[j], up)
		}
	}
	row = own.row[:m.shape.intermediate]
	for d := range m.shape.hidden {
		x.down.row(d, row)
		for _, t := range own.members {
			y := vek32.Dot(row, ws.activated.row(t)) + x.downBias[d]
			ws.residual.row(t)[d] += ws.mix.row(t)[e] * y
		}
	}
}
