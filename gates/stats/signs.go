package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Signs is the one-sided sign test (Dixon and Mood, 1946) that the differences of pairs
// lie above zero: the chance that as many of them are positive by luck, where both signs
// are as likely. Differences of zero say nothing and are left out; of is how many are
// left. Nothing left is a chance of 1.
//
// The pairs must be independent of each other. The prompts of one launch are as far as
// its noise comes from each request, and are not where a launch as a whole is another
// one (a kernel that was tuned otherwise).
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

// PairedLoss is the chance of at least so many losses among items of which two variants
// get one right and the other wrong, where neither is better: the one-sided exact form of
// McNemar's test (Psychometrika 12, 1947), which is the sign test of such items. It is 1
// without losses.
func PairedLoss(lost, gained int) float64 { return heads(lost, lost+gained) }

// heads is the chance of at least k heads in n throws.
func heads(k, n int) float64 {
	if k <= 0 {
		return 1
	}
	return distuv.Binomial{N: float64(n), P: 0.5}.Survival(float64(k) - 1)
}
