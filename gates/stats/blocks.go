package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
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
		raw, df = Variance(differences(q.Candidate[:n], q.Base[:n])), float64(n-1)
		l.SE = max(math.Sqrt(raw), q.floor(n)*math.Sqrt2) / math.Sqrt(float64(n))
	} else {
		blocks, squares := q.blocks(n)
		if df = float64(n - len(blocks)); df < 2 {
			return nil
		}
		next, high := extremes(blocks)
		if next.mean < q.Theta {
			if next = high; high.mean > q.Theta {
				return nil
			}
		}
		raw = squares / df
		l.Estimate = next.mean
		l.SE = max(math.Sqrt(raw), q.floor(n)) / math.Sqrt(next.n)
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

// block is the mean of n launches of one arm.
type block struct{ mean, n float64 }

// blocks groups the first n launches by block, and sums the squares of launches about
// their block means, in one order: sums and ties must not depend on chance.
func (q *Question) blocks(n int) (all []block, about float64) {
	of := map[int][]float64{}
	for i, x := range q.Candidate[:n] {
		of[q.Blocks[i]] = append(of[q.Blocks[i]], x)
	}
	for _, b := range slices.Sorted(maps.Keys(of)) {
		all = append(all, block{mean(of[b]), float64(len(of[b]))})
		about += squares(of[b])
	}
	return all, about
}

// extremes are the blocks with the lowest and the highest mean; of several alike, that with
// the fewest launches, which shows the least.
func extremes(all []block) (low, high block) {
	low = slices.MinFunc(all, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.mean, b.mean), cmp.Compare(a.n, b.n))
	})
	high = slices.MaxFunc(all, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.mean, b.mean), cmp.Compare(b.n, a.n))
	})
	return low, high
}

// boundsInBlocks are the bounds of a look at one arm: the pass bound of its worst block, and
// the fail bound of its best.
func (q *Question) boundsInBlocks(l Look, above, below float64) (pass, fail float64) {
	blocks, _ := q.blocks(l.N)
	low, high := extremes(blocks)
	next := low
	if low.mean != l.Estimate {
		next = high
	}
	sd := l.SE * math.Sqrt(next.n)
	return low.mean - CriticalDistance(q.Pass, sd/math.Sqrt(low.n), l.DF, above),
		high.mean + CriticalDistance(q.Fail, sd/math.Sqrt(high.n), l.DF, below)
}
