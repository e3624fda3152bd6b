package embedded

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// chunkTokens is how many tokens go through the layers at once. Cancellation is checked
// between chunks.
const chunkTokens = 128

// Model is a constructed decoder with the kernels that its configuration selects. Its
// methods share one workspace, so only one step runs at a time; the scheduler
// (scheduler.go) ensures that.
type Model struct {
	shape   shape
	config  Config
	weights *weights
	rope    ropeTable
	ws      *workspace
	tk      *tokenizer
	dot     func(a, b []float32) float32 // of experts and lm_head
	kernels kernels
	log     kernelLog
	trace   atomic.Pointer[tracer] // nil where no profile is being taken
	// astray is set if the current step is one that a fault routes to wrong experts.
	astray bool
}

// newModel constructs the weights. log receives one line per kernel selected now and
// engaged later.
func newModel(config Config, log *log.Logger) (*Model, error) {
	tk := newCorpusTokenizer()
	s := defaultShape(config.Layers, tk.size(), config.MaxModelLen)
	w, err := construct(s, tk, config.Seed)
	if err != nil {
		return nil, err
	}
	m := &Model{
		shape: s, config: config, weights: w, rope: newRopeTable(s),
		tk: tk, kernels: selectKernels(config), log: kernelLog{Logger: log},
	}
	if m.dot = dot; config.Faults["half_accumulator"] > 0 {
		m.dot = halfDot
	}
	m.ws = newWorkspace(s, config.Threads, chunkTokens)
	m.log.selected(m.kernels)
	return m, nil
}

// sequence is one request's tokens and, with the cache on, their keys and
// values.
type sequence struct {
	tokens []token
	kv     *kvCache
}

// newSequence starts a sequence with room for about so many new tokens, so decoding does
// not pause to grow buffers.
func (m *Model) newSequence(prompt []token, room int) *sequence {
	return &sequence{
		tokens: slices.Clone(prompt),
		kv:     newKVCache(m.shape.layers, 2*m.shape.kvDims(), len(prompt)+min(room, maxRoom)),
	}
}

// maxRoom limits what a request without max_tokens reserves, in tokens.
const maxRoom = 1024

// steps returns the logits after each of the sequence's last n tokens, one row per token;
// they are valid until the next step. With the KV cache on, only new tokens go through
// the layers, and there must be n of them; with it off, the whole prefix does, every
// time.
func (m *Model) steps(ctx context.Context, seq *sequence, n int) (matrix, error) {
	if !m.config.KVCache {
		seq.kv.truncate(0)
	}
	fresh := seq.tokens[seq.kv.length:]
	if len(fresh) < n || n < 1 || n > m.ws.logits.rows || len(seq.tokens) > m.shape.maxPositions {
		return matrix{}, fmt.Errorf("a step needs 1 to %d tokens, got %d with %d new and %d of them asked for",
			m.shape.maxPositions, len(seq.tokens), len(fresh), n)
	}
	trace := m.trace.Load()
	attention := m.kernels.attention
	if m.config.KVCache && len(fresh) > 1 {
		attention.name = kernelPrefillCached
	}
	m.log.engage(attention)
	for done := 0; len(fresh) > 0; {
		if err := ctx.Err(); err != nil {
			return matrix{}, err
		}
		chunk := min(len(fresh), chunkTokens)
		outputs := max(0, n-(len(fresh)-chunk)) - done
		m.forward(fresh[:chunk], seq.kv, outputs, attention.name)
		fresh = fresh[chunk:]
		at := trace.now()
		for t := chunk - outputs; t < chunk; t++ {
			rmsNorm(m.ws.final.row(done), m.ws.residual.row(t), m.weights.finalNorm, m.shape.normEpsilon)
			done++
			at = trace.ran(0, kernelNorm, at)
		}
	}
	at := trace.now()
	m.log.engage(m.kernels.head)
	for r := range m.shape.vocabulary { // each row of the weights is read once for all outputs
		row := m.weights.lmHead.row(r)
		for t := range n {
			m.ws.logits.data[t*m.ws.logits.cols+r] = m.dot(row, m.ws.final.row(t))
		}
	}
	trace.ran(0, m.kernels.head.name, at)
	return matrix{rows: n, cols: m.shape.vocabulary, data: m.ws.logits.data[:n*m.shape.vocabulary]}, nil
}

// forward runs a chunk of tokens through all layers, extending the cache. For the last
// layer it computes all keys and values, but the output only of the chunk's last tokens,
// as many as outputs: nothing reads the others.
func (m *Model) forward(tokens []token, kv *kvCache, outputs int, attention string) {
	trace := m.trace.Load()
	at := trace.now()
	for t, id := range tokens {
		copy(m.ws.residual.row(t), m.weights.embedding.row(int(id)))
	}
	trace.ran(0, kernelEmbedding, at)
	m.log.engage(m.kernels.moe)
	m.log.engage(m.kernels.softmax)
	m.log.engage(m.kernels.kvFormat)
	for layer := range m.shape.layers {
		first := 0
		if layer == m.shape.layers-1 {
			first = len(tokens) - outputs
		}
		rows := &kv.layers[layer]
		need := (kv.length + len(tokens)) * rows.cols
		rows.data = slices.Grow(rows.data, max(0, need-len(rows.data)))[:need]
		m.split(0, len(tokens), func(lo, hi, worker int) { m.project(layer, lo, hi, kv, worker) })
		m.split(first, len(tokens), func(lo, hi, worker int) {
			m.attend(layer, lo, hi, worker, kv, attention)
			m.mixture(layer, lo, hi, worker)
		})
		if m.config.Faults["nan"] > 0 && layer == m.shape.layers/2 {
			for t := range tokens {
				m.ws.residual.row(t)[nextSlot] = float32(math.NaN())
			}
		}
	}
	kv.length += len(tokens)
}

// split runs body over the tokens first to end in contiguous ranges, one per worker.
// Tokens are independent between its calls and sums are never split, so results do not
// depend on the thread count. Decoding uses one thread.
func (m *Model) split(first, end int, body func(lo, hi, worker int)) {
	const minTokens = 8 // that justify a second thread
	n := end - first
	workers := max(1, min(m.config.Threads, n/minTokens))
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { body(first+n*w/workers, first+n*(w+1)/workers, w) })
	}
	body(first, first+n/workers, 0)
	wg.Wait()
}

// kvCache holds the keys and values of one sequence: in each layer a row a token, its keys and then its values. With
// the cache switched off the same buffers live for one step only.
type kvCache struct {
	layers []matrix // may have more rows than length says, after truncate
	length int      // tokens
}

// newKVCache has room for so many tokens and grows beyond it.
func newKVCache(layers, cols, room int) *kvCache {
	kv := &kvCache{}
	for range layers {
		kv.layers = append(kv.layers, matrix{cols: cols, data: make([]float32, 0, room*cols)})
	}
	return kv
}

// copyTo replaces what another cache holds by the first tokens.
func (kv *kvCache) copyTo(other *kvCache, tokens int) {
	for l, from := range kv.layers {
		other.layers[l].data = append(other.layers[l].data[:0], from.data[:tokens*from.cols]...)
	}
	other.length = tokens
}

// truncate drops all but the first length tokens, and keeps the memory. It never
// lengthens.
func (kv *kvCache) truncate(length int) { kv.length = min(kv.length, max(length, 0)) }

// project computes queries, keys and values of tokens lo to hi, rotates them to their
// positions and stores keys and values. It must be complete for a chunk before any of its
// tokens attends.
func (m *Model) project(layer, lo, hi int, kv *kvCache, worker int) {
	s, l, ws, trace := m.shape, &m.weights.layers[layer], m.ws, m.trace.Load()
	at := trace.now()
	for t := lo; t < hi; t++ {
		rmsNorm(ws.normed.row(t), ws.residual.row(t), l.attentionNorm, s.normEpsilon)
	}
	at = trace.ran(worker, kernelNorm, at)
	l.query.apply(ws.query, ws.normed, lo, hi)
	l.key.apply(ws.key, ws.normed, lo, hi)
	l.value.apply(ws.value, ws.normed, lo, hi)
	at = trace.ran(worker, kernelQKV, at)
	for t := lo; t < hi; t++ {
		position := kv.length + t
		m.rope.rotate(ws.query.row(t), position)
		m.rope.rotate(ws.key.row(t), position)
		row := kv.layers[layer].row(position)
		if kv.length >= blockTokens && position%blockTokens == 0 && m.config.Faults["stale_kv"] > 0 {
			copy(row, kv.layers[layer].row(position-blockTokens))
			continue
		}
		copy(row, ws.key.row(t))
		copy(row[s.kvDims():], ws.value.row(t))
		if !m.config.KVFloat32 {
			for head := range slices.Chunk(row, s.headDim) {
				roundInt8(head)
			}
		}
	}
	trace.ran(worker, kernelRope, at)
}

// roundInt8 rounds numbers to what 8 bits and a shared scale can represent: symmetric,
// the largest magnitude at 127. NaN stays.
func roundInt8(x []float32) {
	var largest float32
	for _, v := range x {
		largest = max(largest, v, -v)
	}
	if largest == 0 {
		return
	}
	scale := largest / 127
	for i, v := range x {
		x[i] = float32(math.RoundToEven(float64(v/scale))) * scale
	}
}

// attend adds the attention block of one layer to the residual of tokens lo
// to hi, the first of the chunk being at position kv.length.
func (m *Model) attend(layer, lo, hi, worker int, kv *kvCache, kernel string) {
	l, ws, trace := &m.weights.layers[layer], m.ws, m.trace.Load()
	at := trace.now()
	for t := lo; t < hi; t++ {
		m.attendToken(layer, t, kv, ws.workers[worker].scores)
	}
	at = trace.ran(worker, kernel, at)
	l.output.apply(ws.projected, ws.attended, lo, hi)
	for t := lo; t < hi; t++ {
		addScaled(ws.residual.row(t), ws.projected.row(t), 1)
	}
	trace.ran(worker, kernelOut, at)
}

// attendToken computes all heads of one query token over the cached keys visible to its
// layer.
func (m *Model) attendToken(layer, t int, kv *kvCache, scores []float32) {
	s, l, ws := m.shape, &m.weights.layers[layer], m.ws
	end := kv.length + t + 1
	start := 0
	if layer%2 == 0 { // as in gpt-oss, even layers attend through the sliding window
		start = max(0, end-s.window)
	}
	rows, steepness := kv.layers[layer], float32(1/math.Sqrt(float64(s.headDim)))
	for head := range s.heads {
		at := head / (s.heads / s.kvHeads) * s.headDim
		query := ws.query.row(t)[head*s.headDim : (head+1)*s.headDim]
		out := ws.attended.row(t)[head*s.headDim : (head+1)*s.headDim]
		seen := scores[:end-start]
		for i := range seen {
			seen[i] = dot(query, rows.row(start + i)[at:at+s.headDim]) * steepness
		}
		sink := float32(math.Inf(-1))
		if m.config.Sinks {
			sink = l.sinks[head]
		}
		softmaxWithSink(seen, sink)
		clear(out)
		for i, p := range seen {
			addScaled(out, rows.row(start + i)[s.kvDims()+at:], p)
		}
	}
}

// softmaxWithSink normalises scores in place with the head's sink as one more logit in
// the denominator, whose own share is discarded (gpt-oss). A sink of -Inf is none.
func softmaxWithSink(scores []float32, sink float32) {
	largest, sum := max(slices.Max(scores), sink), float32(0)
	for i, x := range scores {
		e := float32(0)
		// Below e^-40 a weight is lost in float32 sums; skipping the call matters because
		// previous-token heads are nearly one-hot. Written so NaN takes the slow path and
		// stays NaN.
		if d := x - largest; !(d < -40) {
			e = float32(math.Exp(float64(d)))
		}
		scores[i] = e
		sum += e
	}
	sum += float32(math.Exp(float64(sink - largest)))
	for i := range scores {
		scores[i] *= 1 / sum
	}
}

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

// topKSoftmax replaces logits by the softmax over the k largest, zero elsewhere; the
// lower index wins a tie. NaN logits stay NaN in k of the places, so a poisoned token
// stays poisoned.
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

// mixture adds the experts of one layer to the residual of tokens lo to hi. Both paths
// process the experts in index order, so they add the same numbers in the same order: the
// dense one also adds zeros.
func (m *Model) mixture(layer, lo, hi, worker int) {
	s, l, ws, trace := m.shape, &m.weights.layers[layer], m.ws, m.trace.Load()
	own := &ws.workers[worker]
	at := trace.now()
	for t := lo; t < hi; t++ {
		rmsNorm(ws.normed.row(t), ws.residual.row(t), l.moeNorm, s.normEpsilon)
	}
	l.router.apply(ws.mix, ws.normed, lo, hi)
	for t := lo; t < hi; t++ {
		topKSoftmax(ws.mix.row(t), s.expertsPerTok) // the weight of each expert
	}
	at = trace.ran(worker, kernelRouter, at)
	for e := range s.experts {
		own.members = own.members[:0]
		for t := lo; t < hi; t++ {
			if !m.config.MoERouted || ws.mix.row(t)[e] != 0 {
				own.members = append(own.members, t)
			}
		}
		if len(own.members) > 0 {
			weights := &l.experts[e]
			if m.astray && layer == s.layers/2 {
				weights = &l.experts[(e+1)%s.experts]
			}
			m.expert(own, weights, e)
		}
	}
	trace.ran(worker, m.kernels.moe.name, at)
}

// expert runs one expert on a worker's member tokens. A weight row is dequantised once
// for all of them, which makes long batches cheap.
func (m *Model) expert(own *workerSpace, x *expertWeights, e int) {
	ws, dot, row := m.ws, m.dot, own.row[:m.shape.hidden]
	for i := range m.shape.intermediate {
		x.gateUp.row(2*i, row)
		for j, t := range own.members {
			own.gates[j] = dot(row, ws.normed.row(t)) + x.gateUp.bias[2*i]
		}
		x.gateUp.row(2*i+1, row)
		for j, t := range own.members {
			up := dot(row, ws.normed.row(t)) + x.gateUp.bias[2*i+1]
			ws.activated.row(t)[i] = clampedSwiGLU(own.gates[j], up)
		}
	}
	row = own.row[:m.shape.intermediate]
	for d := range m.shape.hidden {
		x.down.row(d, row)
		for _, t := range own.members {
			y := dot(row, ws.activated.row(t)) + x.down.bias[d]
			ws.residual.row(t)[d] += ws.mix.row(t)[e] * y
		}
	}
}

// workspace holds the activations of one chunk.
type workspace struct {
	residual, normed, projected matrix // chunk × hidden
	query, attended             matrix // chunk × heads*headDim
	key, value                  matrix // chunk × kvHeads*headDim
	mix                         matrix // chunk × experts: routing weights
	activated                   matrix // chunk × intermediate
	workers                     []workerSpace
	final                       matrix // outputs × hidden
	logits                      matrix // outputs × vocabulary
}

type workerSpace struct {
	members []int     // tokens of the expert in hand
	gates   []float32 // by member
	row     []float32 // a dequantised weight row
	scores  []float32 // of one head, by position
}

// newWorkspace has room for the logits of so many outputs per step.
func newWorkspace(s shape, threads, outputs int) *workspace {
	ws := &workspace{
		residual: newMatrix(chunkTokens, s.hidden), normed: newMatrix(chunkTokens, s.hidden),
		projected: newMatrix(chunkTokens, s.hidden),
		query:     newMatrix(chunkTokens, s.queryDims()), attended: newMatrix(chunkTokens, s.queryDims()),
		key: newMatrix(chunkTokens, s.kvDims()), value: newMatrix(chunkTokens, s.kvDims()),
		mix: newMatrix(chunkTokens, s.experts), activated: newMatrix(chunkTokens, s.intermediate),
		final: newMatrix(outputs, s.hidden), logits: newMatrix(outputs, s.vocabulary),
	}
	for range threads {
		ws.workers = append(ws.workers, workerSpace{
			gates: make([]float32, chunkTokens), row: make([]float32, max(s.hidden, s.intermediate)),
			scores: make([]float32, s.maxPositions),
		})
	}
	return ws
}

// rmsNorm computes out = x / rms(x) * weight with rms(x) = sqrt(mean(x^2) + ε)
// (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019).
func rmsNorm(out, x, weight []float32, epsilon float32) {
	meanSquare := dot(x, x) / float32(len(x))
	scale := float32(1 / math.Sqrt(float64(meanSquare+epsilon)))
	for i := range out {
		out[i] = x[i] * weight[i] * scale
	}
}

// ropeFrequency is the angle per position, in radians, of rotary pair i (Su et al.,
// "RoFormer", 2021). gpt-oss further stretches these for long contexts (YaRN); at the
// lengths served here that would make no useful difference.
func ropeFrequency(s shape, i int) float64 {
	return math.Pow(s.ropeTheta, -float64(2*i)/float64(s.headDim))
}

// ropeTable holds cosine and sine of every position and pair.
type ropeTable struct {
	half     int
	cos, sin []float32 // position * half + pair
}

func newRopeTable(s shape) ropeTable {
	half := s.headDim / 2
	t := ropeTable{half: half, cos: make([]float32, s.maxPositions*half), sin: make([]float32, s.maxPositions*half)}
	for i := range half {
		frequency := ropeFrequency(s, i)
		for position := range s.maxPositions {
			sin, cos := math.Sincos(float64(position) * frequency)
			t.cos[position*half+i], t.sin[position*half+i] = float32(cos), float32(sin)
		}
	}
	return t
}

// rotate rotates every head in x, in place. Pairs are (i, i + headDim/2), the half-split
// layout of gpt-oss.
func (t ropeTable) rotate(x []float32, position int) {
	cos := t.cos[position*t.half : (position+1)*t.half]
	sin := t.sin[position*t.half : (position+1)*t.half]
	for head := 0; head < len(x); head += 2 * t.half {
		a, b := x[head:head+t.half], x[head+t.half:head+2*t.half]
		for i := range cos {
			a[i], b[i] = a[i]*cos[i]-b[i]*sin[i], b[i]*cos[i]+a[i]*sin[i]
		}
	}
}
