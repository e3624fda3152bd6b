package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// leastSegment is the fewest values on each side of a change.
	leastSegment = 2
	// permutations per test of a change, which is kept at p ≤ divisiveLevel.
	permutations  = 999
	divisiveLevel = 0.05
	// MostDivided limits how many values are examined: all pairs are compared, again for
	// each permutation.
	MostDivided = 300
)

// ChangePoint is where the distribution of a series changes.
type ChangePoint struct {
	// At is the index of the first value of the new stretch.
	At int `json:"at"`
	// P is the chance of so clear a change in a series without one.
	P float64 `json:"p"`
}

// Divide finds where the distribution of a series changes: E-divisive with means of
// distances (Matteson and James, A nonparametric approach for multiple change point
// analysis of multivariate data, JASA 109, 2014; α = 1), as Apache Otava and MongoDB use
// it for benchmarks. It takes the change that divides the series, or a stretch of it,
// best by the energy distance between both sides, tests it by permutations within the
// stretches, and goes on until one is not significant. The same values give the same
// answer. They need not be normal; that they do not depend on each other is assumed.
func Divide(values []float64) ([]ChangePoint, error) {
	if err := check(values); err != nil {
		return nil, err
	}
	if len(values) > MostDivided {
		return nil, fmt.Errorf("%d values: changes are looked for in %d at most", len(values), MostDivided)
	}
	r := rand.New(rand.NewPCG(uint64(len(values)), 0x6d78666c6f77))
	cuts := []int{0, len(values)}
	var found []ChangePoint
	for {
		at, q := bestDivision(values, cuts)
		if at < 0 {
			break
		}
		shuffled, alike := slices.Clone(values), 1
		for range permutations {
			for i := range len(cuts) - 1 {
				stretch := shuffled[cuts[i]:cuts[i+1]]
				r.Shuffle(len(stretch), func(a, b int) { stretch[a], stretch[b] = stretch[b], stretch[a] })
			}
			if _, other := bestDivision(shuffled, cuts); other >= q {
				alike++
			}
			if alike > divisiveLevel*(permutations+1) {
				break // it is not significant, whatever the others say
			}
		}
		p := float64(alike) / (permutations + 1)
		if p > divisiveLevel {
			break
		}
		found = append(found, ChangePoint{At: at, P: p})
		cuts = append(cuts, at)
		slices.Sort(cuts)
	}
	slices.SortFunc(found, func(a, b ChangePoint) int { return a.At - b.At })
	return found, nil
}

// bestDivision is where to divide one of the stretches between cuts best, and how well;
// -1 if none is long enough or nothing varies.
func bestDivision(values []float64, cuts []int) (at int, q float64) {
	at = -1
	for i := range len(cuts) - 1 {
		from, to := cuts[i], cuts[i+1]
		if in, of := divide(values[from:to]); in > 0 && of > q {
			at, q = from+in, of
		}
	}
	return at, q
}

// divide finds the place in a stretch where the values before differ most from those
// behind, up to any end: an end in the middle keeps a later change from hiding it.
func divide(x []float64) (at int, q float64) {
	n := len(x)
	// sums[i*(n+1)+k] is how far x[i] is from the first k in all.
	sums := make([]float64, n*(n+1))
	for i := range n {
		row := sums[i*(n+1):]
		for k := range n {
			row[k+1] = row[k] + math.Abs(x[i]-x[k])
		}
	}
	before := 0.0 // of the first tau, among each other
	for tau := 1; tau <= n-leastSegment; tau++ {
		before += sums[(tau-1)*(n+1)+tau-1]
		if tau < leastSegment {
			continue
		}
		between, behind := 0.0, 0.0
		for end := tau + 1; end <= n; end++ {
			row := sums[(end-1)*(n+1):]
			between += row[tau]
			behind += row[end-1] - row[tau]
			if end-tau < leastSegment {
				continue
			}
			m, k := float64(tau), float64(end-tau)
			if of := m * k / (m + k) * (2*between/(m*k) - 2*before/(m*(m-1)) - 2*behind/(k*(k-1))); of > q {
				at, q = tau, of
			}
		}
	}
	return at, q
}
