package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// blocked reports whether the first n launches ran in more than one block.
func (q *Question) blocked(n int) bool {
	return len(q.Blocks) >= n && slices.ContainsFunc(q.Blocks[:n], func(b int) bool { return b != q.Blocks[0] })
}

// lookInBlocks is the statistic for launches in several blocks, such as devices, which
// may differ by more than the launches on one of them.
//
// Two arms are compared within rounds, each of which ran in one block: what blocks differ
// by is in both arms and cancels, and how the effect differs between blocks is part of
// the spread. It is a one-sample t-test on the n differences.
//
// One arm keeps to a level if it does in every block, and misses it if it does in every
// block (an intersection–union test, which takes nothing of the level): the block next to
// the threshold decides, with the spread of all launches about the means of their blocks.
// If blocks lie on both sides, nothing is decided.
func (q *Question) lookInBlocks(l *Look, n int) error {
	var raw, df float64
	if !q.Single {
		raw, df = stat.Variance(q.differences(n), nil), float64(n-1)
		l.SE = max(math.Sqrt(raw), q.Floor*math.Sqrt2) / math.Sqrt(float64(n))
	} else {
		blocks := q.blocksOf(n)
		low, high := blocks.ends()
		sum := 0.0
		for i, x := range q.Candidate[:n] {
			sum += math.Pow(x-blocks.mean[q.Blocks[i]], 2)
		}
		if df = float64(n - len(blocks.mean)); df < 2 {
			return nil
		}
		next := low
		switch {
		case blocks.mean[low] >= q.Theta:
		case blocks.mean[high] <= q.Theta:
			next = high
		default:
			return nil
		}
		raw = sum / df
		l.Estimate = blocks.mean[next]
		l.SE = max(math.Sqrt(raw), q.Floor) / math.Sqrt(float64(blocks.n[next]))
	}
	t := (l.Estimate - q.Theta) / l.SE
	switch {
	case math.IsInf(raw, 0) || math.IsNaN(raw):
		return errSpread
	case !(l.SE > 0) || math.IsInf(t, 0) || math.IsNaN(t):
		l.SE = 0
		return nil
	}
	l.T, l.DF = t, df
	l.tails()
	return nil
}

// differences are those of candidate and base in the first n rounds.
func (q *Question) differences(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = q.Candidate[i] - q.Base[i]
	}
	return out
}

// blocks are the means of one arm's launches by block, and their number.
type blocks struct {
	mean map[int]float64
	n    map[int]int
}

func (q *Question) blocksOf(n int) blocks {
	b := blocks{map[int]float64{}, map[int]int{}}
	for i, x := range q.Candidate[:n] {
		at := q.Blocks[i]
		b.n[at]++
		b.mean[at] += (x - b.mean[at]) / float64(b.n[at])
	}
	return b
}

// ends returns the blocks with the lowest and the highest mean.
func (b blocks) ends() (low, high int) {
	first := true
	for at, m := range b.mean {
		if first || m < b.mean[low] {
			low = at
		}
		if first || m > b.mean[high] {
			high = at
		}
		first = false
	}
	return low, high
}

// boundInBlocks adds the bounds of a look at one arm: what holds in its worst block, and
// what fails in its best.
func (q *Question) boundInBlocks(l *Look) {
	b := q.blocksOf(l.N)
	low, high := b.ends()
	sd := 0.0
	for at, m := range b.mean {
		if m == l.Estimate {
			sd = l.SE * math.Sqrt(float64(b.n[at]))
		}
	}
	l.Low = b.mean[low] - Reach(q.Pass, sd/math.Sqrt(float64(b.n[low])), l.DF, l.Above)
	l.High = b.mean[high] + Reach(q.Fail, sd/math.Sqrt(float64(b.n[high])), l.DF, l.Below)
}
