package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Signs is the one-sided sign test (Dixon and Mood, 1946) that the differences of pairs
// lie above zero: the chance that as many are positive by luck, if both signs are equally
// likely. Differences of zero say nothing and are left out; of is how many remain. If
// none does, the chance is 1.
//
// The pairs must be independent. The prompts of one launch are, as far as its noise comes
// from each request, and are not if a launch as a whole differs (a kernel tuned
// differently).
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
	return heads(above, of), of, nil
}

// PairedLoss is the chance of at least so many losses among items that only one of two
// variants gets right, if neither is better: the one-sided exact form of McNemar's test
// (Psychometrika 12, 1947), which is the sign test of such items. It is 1 without losses.
func PairedLoss(lost, gained int) float64 { return heads(lost, lost+gained) }

// heads is the chance of at least k heads in n throws.
func heads(k, n int) float64 {
	if k <= 0 {
		return 1
	}
	return distuv.Binomial{N: float64(n), P: 0.5}.Survival(float64(k) - 1)
}
