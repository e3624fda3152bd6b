package embedded

import (
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// kvCache holds keys and values of one sequence, a slice a layer, position-
// major: kvHeads*headDim elements a token. With the cache switched off the
// same buffers live for one step only.
type kvCache struct {
	keys, values [][]float32 // may be longer than length says, after truncate
	length       int         // tokens
}

// newKVCache has room for a number of tokens and grows beyond it.
func newKVCache(s shape, room int) *kvCache {
	kv := &kvCache{keys: make([][]float32, s.layers), values: make([][]float32, s.layers)}
	for l := range s.layers {
		kv.keys[l] = make([]float32, 0, room*s.kvDims())
		kv.values[l] = make([]float32, 0, room*s.kvDims())
	}
	return kv
}

// truncate forgets all but the first tokens, length of them, and keeps the
// memory. It never lengthens.
func (kv *kvCache) truncate(length int) { kv.length = min(kv.length, max(length, 0)) }

// extend makes room for n more tokens in one layer.
func (kv *kvCache) extend(layer, n, dims int) {
	need := (kv.length + n) * dims
	for _, buffer := range []*[]float32{&kv.keys[layer], &kv.values[layer]} {
		*buffer = slices.Grow(*buffer, max(0, need-len(*buffer)))[:need]
	}
}

// project computes queries, keys and values of tokens lo to hi, turns them to
// their positions and stores keys and values. All of it must be done for a
// chunk before any of its tokens attends.
func (m *Model) project(ws *workspace, layer, lo, hi int, kv *kvCache) {
	s, l := m.shape, &m.weights.layers[layer]
	for t := lo; t < hi; t++ {
		rmsNorm(ws.normed.row(t), ws.residual.row(t), l.attentionNorm, s.normEpsilon)
	}
	linear(ws.query, l.query, l.queryBias, ws.normed, lo, hi)
	linear(ws.key, l.key, l.keyBias, ws.normed, lo, hi)
	linear(ws.value, l.value, l.valueBias, ws.normed, lo, hi)
	for t := lo; t < hi; t++ {
		position := kv.length + t
		m.rope.rotate(ws.query.row(t), position)
		m.rope.rotate(ws.key.row(t), position)
		copy(kv.keys[layer][position*s.kvDims():], ws.key.row(t))
		copy(kv.values[layer][position*s.kvDims():], ws.value.row(t))
	}
}

// attend adds the attention block of one layer to the residual of tokens lo
// to hi, the first of the chunk being at position kv.length.
func (m *Model) attend(ws *workspace, layer, lo, hi, worker int, kv *kvCache) {
	l := &m.weights.layers[layer]
	for t := lo; t < hi; t++ {
		m.attendToken(ws, layer, t, kv, ws.workers[worker].scores)
	}
	linear(ws.projected, l.output, l.oBias, ws.attended, lo, hi)
	for t := lo; t < hi; t++ {
		vek32.Add_Inplace(ws.residual.row(t), ws.projected.row(t))
	}
}

// attendToken computes all heads of one query token over the cached keys that
// its layer lets it see.
func (m *Model) attendToken(ws *workspace, layer, t int, kv *kvCache, scores []float32) {
	s, l := m.shape, &m.weights.layers[layer]
	end := kv.length + t + 1
	start := 0
	if s.slides(layer) {
		start = max(0, end-s.window)
	}
	stride, scale := s.kvDims(), float32(1/math.Sqrt(float64(s.headDim)))
	for head := range s.heads {
		at := head / (s.heads / s.kvHeads) * s.headDim
		query := ws.query.row(t)[head*s.headDim : (head+1)*s.headDim]
		out := ws.attended.row(t)[head*s.headDim : (head+1)*s.headDim]
		seen := scores[:end-start]
		for i := range seen {
			k := (start+i)*stride + at
			seen[i] = vek32.Dot(query, kv.keys[layer][k:k+s.headDim]) * scale
		}
		if m.config.Sinks {
			softmaxWithSink(seen, l.sinks[head])
		} else {
			softmax(seen)
		}
		clear(out)
		for i, p := range seen {
			v := (start+i)*stride + at
			addScaled(out, kv.values[layer][v:v+s.headDim], p)
		}
	}
}

// softmaxWithSink normalises scores in place with the head's sink as one more
// logit in the denominator, whose own share is thrown away (gpt-oss).
func softmaxWithSink(scores []float32, sink float32) {
	largest := max(vek32.Max(scores), sink)
	sum := exponentials(scores, largest) + float32(math.Exp(float64(sink-largest)))
	vek32.MulNumber_Inplace(scores, 1/sum)
}

// softmax normalises scores in place.
func softmax(scores []float32) {
	sum := exponentials(scores, vek32.Max(scores))
	vek32.MulNumber_Inplace(scores, 1/sum)
}

// exponentials replaces scores by exp(score - largest) and sums them.
func exponentials(scores []float32, largest float32) float32 {
	var sum float32
	for i, x := range scores {
		e := float32(0)
		// Below e^-40 a weight is lost in float32 sums; skipping the call
		// matters because previous-token heads are nearly one-hot. Written so
		// that NaN takes the slow path and stays NaN.
		if d := x - largest; !(d < -40) {
			e = float32(math.Exp(float64(d)))
		}
		scores[i] = e
		sum += e
	}
	return sum
}

// addScaled adds x*factor to out. At head size a loop beats two vector calls.
func addScaled(out, x []float32, factor float32) {
	if factor == 0 {
		return
	}
	x = x[:len(out)]
	for i := range out {
		out[i] += x[i] * factor
	}
}
