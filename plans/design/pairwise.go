package design

import (
	"math/rand/v2"
	"slices"
)

const (
	// effort limits how many covering arrays are made, of which the smallest is used: by
	// pairs and rows, within the following limits.
	effort, leastTries, mostTries = 300_000, 3, 400
	// rivals is how many rows are made for each one used, as in AETG (Cohen, Dalal,
	// Fredman and Patton, IEEE Transactions on Software Engineering 23, 1997), which
	// found that more than 50 gain nothing.
	rivals = 24
)

// pairs are the pairs of values of two factors that no cell has had.
type pairs struct {
	// at is where the values of each factor start among all values.
	at   []int
	open [][]bool
	// left is how many pairs of each value are open, n how many in total.
	left []int
	n    int
}

func newPairs(factors []Factor) *pairs {
	p := &pairs{}
	total := 0
	var of []int
	for f, factor := range factors {
		p.at = append(p.at, total)
		total += len(factor.Values)
		for range factor.Values {
			of = append(of, f)
		}
	}
	p.left = make([]int, total)
	for a := range total {
		p.open = append(p.open, make([]bool, total))
		for b := range total {
			if of[a] != of[b] {
				p.open[a][b] = true
				p.left[a]++
			}
		}
		p.n += p.left[a]
	}
	p.n /= 2
	return p
}

// close marks a pair as covered, or impossible.
func (p *pairs) close(a, b int) {
	if p.open[a][b] {
		p.open[a][b], p.open[b][a] = false, false
		p.left[a]--
		p.left[b]--
		p.n--
	}
}

// fresh is how many new pairs a cell covers. Values below 0 have none.
func (p *pairs) fresh(c Cell) (n int) {
	for f, v := range c {
		for g := f + 1; g < len(c); g++ {
			if v >= 0 && c[g] >= 0 && p.open[p.at[f]+v][p.at[g]+c[g]] {
				n++
			}
		}
	}
	return n
}

func (p *pairs) take(c Cell) {
	for f, v := range c {
		for g := f + 1; g < len(c); g++ {
			p.close(p.at[f]+v, p.at[g]+c[g])
		}
	}
}

// pairwise is a covering array of strength 2 by a greedy algorithm, the smallest of some.
// A pair that no cell may have is in none.
func (d *Design) pairwise() (best []Cell) {
	spent := 0
	for seed := range uint64(mostTries) {
		c := &covering{Design: d, pairs: newPairs(d.Factors), rand: rand.New(rand.NewPCG(seed, 2))}
		pairs := c.n
		rows := c.rows()
		if best == nil || len(rows) < len(best) {
			best = rows
		}
		if spent += pairs * len(rows); spent > effort && seed+1 >= leastTries {
			break
		}
	}
	return best
}

// covering is a covering array in progress.
type covering struct {
	*Design
	*pairs
	rand *rand.Rand
}

func (c *covering) rows() (rows []Cell) {
	defaults := make(Cell, len(c.Factors))
	if !c.excluded(defaults) {
		c.take(defaults)
		rows = append(rows, defaults)
	}
	for c.n > 0 {
		var best Cell
		most := 0
		for range rivals {
			row := c.row()
			if n := c.fresh(row); row != nil && n > most {
				best, most = row, n
			}
		}
		if best == nil {
			// The rest is only in cells that a greedy choice does not find, or in none.
			if best = c.forced(); best == nil {
				continue
			}
		}
		c.take(best)
		rows = append(rows, best)
	}
	return rows
}

// row is a cell made value by value, each the one with most new pairs; nil if exclusions
// leave none.
func (c *covering) row() Cell {
	row := c.empty()
	most, ties := 0, 0
	first, value := 0, 0
	for f, factor := range c.Factors {
		for v := range factor.Values {
			n := c.left[c.at[f]+v]
			if n < most {
				continue
			}
			if n > most {
				ties = 0
			}
			if ties++; c.rand.IntN(ties) == 0 {
				most, first, value = n, f, v
			}
		}
	}
	row[first] = value
	for _, f := range c.rand.Perm(len(c.Factors)) {
		if f == first {
			continue
		}
		most, ties, chosen := -1, 0, -1
		for v := range c.Factors[f].Values {
			row[f] = v
			n := 0
			for g, w := range row {
				if g != f && w >= 0 && c.open[c.at[f]+v][c.at[g]+w] {
					n++
				}
			}
			if n < most || c.excluded(row) {
				continue
			}
			if n > most {
				ties = 0
			}
			if ties++; c.rand.IntN(ties) == 0 {
				most, chosen = n, v
			}
		}
		if row[f] = chosen; chosen < 0 {
			return nil
		}
	}
	return row
}

// forced is a cell with one of the open pairs, found by trying everything that may be
// beside it; nil if the pair is in no cell and is given up.
func (c *covering) forced() Cell {
	for f := range c.Factors {
		for g := f + 1; g < len(c.Factors); g++ {
			for v := range c.Factors[f].Values {
				for w := range c.Factors[g].Values {
					if !c.open[c.at[f]+v][c.at[g]+w] {
						continue
					}
					row := c.empty()
					row[f], row[g] = v, w
					steps := maxSteps
					if !c.excluded(row) && c.complete(row, 0, &steps) {
						return row
					}
					c.close(c.at[f]+v, c.at[g]+w)
					return nil
				}
			}
		}
	}
	return nil
}

// maxSteps limits the search for one cell: exclusions can be a puzzle.
const maxSteps = 100_000

// complete fills in what is not chosen from factor f on.
func (c *covering) complete(row Cell, f int, steps *int) bool {
	if *steps--; *steps < 0 {
		return false
	}
	for f < len(row) && row[f] >= 0 {
		f++
	}
	if f == len(row) {
		return true
	}
	for v := range c.Factors[f].Values {
		if row[f] = v; !c.excluded(row) && c.complete(row, f+1, steps) {
			return true
		}
	}
	row[f] = -1
	return false
}

// empty is a cell in which nothing is chosen.
func (c *covering) empty() Cell { return slices.Repeat(Cell{-1}, len(c.Factors)) }
