package stats

import (
	"errors"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/stat/distuv"
)

// Signs is the one-sided sign test (Dixon and Mood, 1946) that the differences of pairs
// lie above zero: the chance that as many of them are positive by luck, where both signs
// are as likely. Differences of zero say nothing and are left out; of is how many are
// left. Nothing left is a chance of 1.
//
// The pairs must be independent of each other. The prompts of one launch are as far as
// its noise comes from each request, and are not where a launch as a whole is another
// one (a kernel that was tuned otherwise): see Relabel for that.
func Signs(differences []float64) (p float64, of int, err error) {
	if len(differences) == 0 {
		return 1, 0, ErrEmpty
	}
	above := 0
	for _, d := range differences {
		switch {
		case math.IsNaN(d):
			return 1, 0, ErrNotFinite
		case d > 0:
			above++
			of++
		case d < 0:
			of++
		}
	}
	if above == 0 {
		return 1, of, nil
	}
	return distuv.Binomial{N: float64(of), P: 0.5}.Survival(float64(above) - 1), of, nil
}

// maxLabelled bounds the launches of Relabel: 2^20 labellings take a second.
const maxLabelled = 20

// ErrTooMany is returned for more launches than all ways to label can be tried of.
var ErrTooMany = errors.New("more than 20 launches")

// ErrNotSquare is returned for distances that are not between all launches.
var ErrNotSquare = errors.New("distances must be between all launches, the same both ways")

// Relabel tests whether the launches of a candidate are farther from those of its parent
// than these are from each other: distances[i][j] is between launches i and j, the
// parent's first. The statistic is the mean distance across less the mean distance among
// the parent's; its chance p is the share of all ways to call as many launches the
// parent's that give as much (an exact permutation test, one-sided). Launches are the
// replicates: whatever makes one launch differ as a whole is in the distances among the
// parent's too. least is the smallest p that so few launches can give: 1/3 of two and
// one, 1/70 of four and four. The parent needs two launches, the candidate one.
func Relabel(distances [][]float64, parents int) (p, least float64, err error) {
	n := len(distances)
	switch {
	case parents < 2 || parents >= n:
		return 1, 1, ErrEmpty
	case n > maxLabelled:
		return 1, 1, ErrTooMany
	}
	for i, row := range distances {
		if len(row) != n {
			return 1, 1, ErrNotSquare
		}
		for j, d := range row {
			switch {
			case math.IsNaN(d) || math.IsInf(d, 0):
				return 1, 1, ErrNotFinite
			case len(distances[j]) != n || distances[j][i] != d:
				return 1, 1, ErrNotSquare
			}
		}
	}
	seen := apart(distances, 1<<parents-1)
	as, all := 0, 0
	for label := uint32(0); label < 1<<n; label++ {
		if bits.OnesCount32(label) != parents {
			continue
		}
		all++
		if apart(distances, label) >= seen-1e-12*math.Abs(seen) {
			as++
		}
	}
	return float64(as) / float64(all), 1 / float64(all), nil
}

// apart is the mean distance across less the mean among the launches in parents.
func apart(distances [][]float64, parents uint32) float64 {
	var across, among float64
	nAcross, nAmong := 0, 0
	for i, row := range distances {
		for j := range i {
			switch in := parents>>i&1 + parents>>j&1; in {
			case 2:
				among += row[j]
				nAmong++
			case 1:
				across += row[j]
				nAcross++
			}
		}
	}
	return across/float64(nAcross) - among/float64(nAmong)
}
