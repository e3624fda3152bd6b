package embedded

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/viterin/vek/vek32"
)

// chunkTokens is how many tokens go through the layers at once. Cancellation
// is looked at between chunks.
const chunkTokens = 128

// Model is a constructed decoder with the kernels that its configuration
// selects. Its methods share one workspace, so only one step runs at a time;
// the scheduler (scheduler.go) sees to that.
type Model struct {
	shape   shape
	config  Config
	weights *weights
	lmHead4 mxMatrix // set when the lm_head runs in MXFP4
	rope    ropeTable
	pool    pool
	ws      *workspace
	tk      *tokenizer
	kernels kernelLog
}

// newModel constructs the weights. log receives one line for each kernel
// selected now and engaged later.
func newModel(config Config, log io.Writer) (*Model, error) {
	tk := newCorpusTokenizer()
	s := defaultShape(config.Layers, tk.size(), config.MaxModelLen)
	w, err := construct(s, tk, config.Seed)
	if err != nil {
		return nil, err
	}
	m := &Model{
		shape: s, config: config, weights: w, rope: newRopeTable(s),
		pool: pool{threads: config.Threads}, tk: tk, kernels: kernelLog{out: log},
	}
	if config.LMHead == LMHeadMXFP4 {
		m.lmHead4 = quantise(w.lmHead)
	}
	m.ws = newWorkspace(s, config.Threads)
	m.kernels.selected(config)
	return m, nil
}

// workspace holds the activations of one chunk.
type workspace struct {
	residual, normed, projected batch // chunk × hidden
	query, attended             batch // chunk × heads*headDim
	key, value                  batch // chunk × kvHeads*headDim
	mix                         batch // chunk × experts: routing weights
	activated                   batch // chunk × intermediate
	workers                     []workerSpace
	final, row, logits          []float32
}

// workerSpace is what a thread needs for itself.
type workerSpace struct {
	members []int     // tokens of the expert in hand
	gates   []float32 // by member
	row     []float32 // a dequantised weight row
	scores  []float32 // of one head, by position
}

func newWorkspace(s shape, threads int) *workspace {
	ws := &workspace{
		residual: newMatrix(chunkTokens, s.hidden), normed: newMatrix(chunkTokens, s.hidden),
		projected: newMatrix(chunkTokens, s.hidden),
		query:     newMatrix(chunkTokens, s.queryDims()), attended: newMatrix(chunkTokens, s.queryDims()),
		key: newMatrix(chunkTokens, s.kvDims()), value: newMatrix(chunkTokens, s.kvDims()),
		mix: newMatrix(chunkTokens, s.experts), activated: newMatrix(chunkTokens, s.intermediate),
		final: make([]float32, s.hidden), logits: make([]float32, s.vocabulary),
	}
	ws.row = make([]float32, s.hidden)
	for range threads {
		ws.workers = append(ws.workers, workerSpace{
			gates: make([]float32, chunkTokens), row: make([]float32, max(s.hidden, s.intermediate)),
			scores: make([]float32, s.maxPositions),
		})
	}
	return ws
}

// sequence is one request's tokens and, with the cache on, their keys and
// values.
type sequence struct {
	tokens []token
	kv     *kvCache
}

// newSequence starts a sequence with room for about so many new tokens, so
// that decoding does not stop to grow buffers.
func (m *Model) newSequence(prompt []token, room int) *sequence {
	return &sequence{tokens: slices.Clone(prompt), kv: newKVCache(m.shape, len(prompt)+min(room, maxRoom))}
}

// maxRoom bounds what a request without max_tokens reserves, in tokens.
const maxRoom = 1024

// step returns the logits after the sequence's last token; they are valid
// until the next step. With the KV cache on, only tokens not seen yet go
// through the layers; with it off, the whole prefix does, every time.
func (m *Model) step(ctx context.Context, seq *sequence) ([]float32, error) {
	if !m.config.KVCache {
		seq.kv.truncate()
	}
	fresh := seq.tokens[seq.kv.length:]
	if len(fresh) == 0 || len(seq.tokens) > m.shape.maxPositions {
		return nil, fmt.Errorf("a step needs 1 to %d tokens, got %d with %d new", m.shape.maxPositions, len(seq.tokens), len(fresh))
	}
	m.kernels.attention(m.config.KVCache, len(fresh))
	for len(fresh) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(len(fresh), chunkTokens)
		m.forward(fresh[:n], seq.kv, n == len(fresh))
		fresh = fresh[n:]
		if len(fresh) == 0 {
			rmsNorm(m.ws.final, m.ws.residual.row(n-1), m.weights.finalNorm, m.shape.normEpsilon)
		}
	}
	m.head()
	return m.ws.logits, nil
}

// forward runs a chunk of tokens through all layers, extending the cache. Of
// the last layer it needs all keys and values, but the output only of the
// sequence's last token: nothing reads the others.
func (m *Model) forward(tokens []token, kv *kvCache, ends bool) {
	for t, id := range tokens {
		copy(m.ws.residual.row(t), m.weights.embedding.row(int(id)))
	}
	m.kernels.moe(m.config.MoE)
	m.kernels.softmax(m.config.Sinks)
	for layer := range m.shape.layers {
		first := 0
		if layer == m.shape.layers-1 {
			first = len(tokens)
			if ends {
				first--
			}
		}
		kv.extend(layer, len(tokens), m.shape.kvDims())
		m.pool.split(0, len(tokens), func(lo, hi, _ int) { m.project(m.ws, layer, lo, hi, kv) })
		m.pool.split(first, len(tokens), func(lo, hi, worker int) {
			m.attend(m.ws, layer, lo, hi, worker, kv)
			m.mixture(m.ws, layer, lo, hi, worker)
		})
		if m.config.Faults.NaN && layer == m.shape.layers/2 {
			for t := range tokens {
				m.ws.residual.row(t)[nextSlot] = float32(math.NaN())
			}
		}
	}
	kv.length += len(tokens)
}

// head turns the normalised final hidden state into logits.
func (m *Model) head() {
	ws := m.ws
	m.kernels.head(m.config.LMHead)
	row := ws.row
	for t := range ws.logits {
		if m.config.LMHead == LMHeadMXFP4 {
			m.lmHead4.row(t, row)
		} else {
			row = m.weights.lmHead.row(t)
		}
		ws.logits[t] = vek32.Dot(row, ws.final)
	}
}
