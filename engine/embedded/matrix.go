package embedded

import (
	"sync"

	"github.com/viterin/vek/vek32"
)

// matrix is a float32 matrix, row-major: one row an output, so that a product
// with a vector is one dot product a row.
type matrix struct {
	rows, cols int
	data       []float32
}

func newMatrix(rows, cols int) matrix {
	return matrix{rows: rows, cols: cols, data: make([]float32, rows*cols)}
}

func (m matrix) row(r int) []float32 { return m.data[r*m.cols : (r+1)*m.cols] }

func (m matrix) bytes() int { return 4 * len(m.data) }

// batch is a workspace of token vectors, one row a token.
type batch = matrix

// linear computes out[t] = w * x[t] + bias for tokens lo to hi. Each element is
// one dot product, whatever the batch size: that keeps greedy output the same
// whether a token was computed alone or with others.
func linear(out batch, w matrix, bias []float32, x batch, lo, hi int) {
	for r := range w.rows {
		weights := w.row(r)
		for t := lo; t < hi; t++ {
			out.data[t*out.cols+r] = vek32.Dot(weights, x.data[t*x.cols:t*x.cols+w.cols]) + bias[r]
		}
	}
}

// pool splits the tokens of a chunk over threads. It holds no goroutines: they
// cost little beside a layer's work on many tokens.
type pool struct{ threads int }

// minTokens is how many tokens make a second thread worth waking.
const minTokens = 8

// split runs body over the tokens first to end in contiguous ranges, one a
// worker. Tokens are independent between its calls and sums are never split,
// so results do not depend on the thread count. Decoding uses one thread.
func (p pool) split(first, end int, body func(lo, hi, worker int)) {
	n := end - first
	workers := max(1, min(p.threads, n/minTokens))
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { body(first+n*w/workers, first+n*(w+1)/workers, w) })
	}
	body(first, first+n/workers, 0)
	wg.Wait()
}
