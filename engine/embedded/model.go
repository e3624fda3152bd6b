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
	m.ws = newWorkspace(s, config.Threads, config.Speculation+1)
	m.kernels.selected(config)
	return m, nil
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
// until the next step.
func (m *Model) step(ctx context.Context, seq *sequence) ([]float32, error) {
	logits, err := m.steps(ctx, seq, 1)
	if err != nil {
		return nil, err
	}
	return logits.row(0), nil
}

// steps returns the logits after each of the sequence's last n tokens, one row
// a token; they are valid until the next step. With the KV cache on, only
// tokens not seen yet go through the layers, and there must be n of them; with
// it off, the whole prefix does, every time.
func (m *Model) steps(ctx context.Context, seq *sequence, n int) (batch, error) {
	if !m.config.KVCache {
		seq.kv.truncate(0)
	}
	fresh := seq.tokens[seq.kv.length:]
	if len(fresh) < n || n < 1 || n > m.ws.logits.rows || len(seq.tokens) > m.shape.maxPositions {
		return batch{}, fmt.Errorf("a step needs 1 to %d tokens, got %d with %d new and %d of them asked for", m.shape.maxPositions, len(seq.tokens), len(fresh), n)
	}
	m.kernels.attention(m.config.KVCache, len(fresh))
	for done := 0; len(fresh) > 0; {
		if err := ctx.Err(); err != nil {
			return batch{}, err
		}
		chunk := min(len(fresh), chunkTokens)
		outputs := max(0, n-(len(fresh)-chunk)) - done
		m.forward(fresh[:chunk], seq.kv, outputs)
		fresh = fresh[chunk:]
		for t := chunk - outputs; t < chunk; t++ {
			rmsNorm(m.ws.final.row(done), m.ws.residual.row(t), m.weights.finalNorm, m.shape.normEpsilon)
			done++
		}
	}
	m.head(n)
	return batch{rows: n, cols: m.shape.vocabulary, data: m.ws.logits.data[:n*m.shape.vocabulary]}, nil
}

// forward runs a chunk of tokens through all layers, extending the cache. Of
// the last layer it needs all keys and values, but the output only of the
// chunk's last tokens, as many as outputs says: nothing reads the others.
func (m *Model) forward(tokens []token, kv *kvCache, outputs int) {
	for t, id := range tokens {
		copy(m.ws.residual.row(t), m.weights.embedding.row(int(id)))
	}
	m.kernels.moe(m.config.MoE)
	m.kernels.softmax(m.config.Sinks)
	for layer := range m.shape.layers {
		first := 0
		if layer == m.shape.layers-1 {
			first = len(tokens) - outputs
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

// head turns the first n normalised final hidden states into logits. A row of
// the weights is read, and in MXFP4 dequantised, once for all of them.
func (m *Model) head(n int) {
	ws := m.ws
	m.kernels.head(m.config.LMHead)
	row := ws.row
	for r := range m.shape.vocabulary {
		if m.config.LMHead == LMHeadMXFP4 {
			m.lmHead4.row(r, row)
		} else {
			row = m.weights.lmHead.row(r)
		}
		for t := range n {
			ws.logits.data[t*ws.logits.cols+r] = vek32.Dot(row, ws.final.row(t))
		}
	}
}
