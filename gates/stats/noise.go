package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Pool is the standard deviation of the logs of launches within groups, and its degrees
// of freedom: one less than the launches of each group. A group is the launches of one
// variant in one session, so differences between variants and sessions do not count as
// noise. Groups of one launch, or with values that have no log, add nothing; without any
// other the degrees of freedom are 0.
func Pool(groups [][]float64) (sd, df float64) {
	var squares float64
	for _, g := range groups {
		xs, err := logsOf(g)
		if err != nil || len(xs) < 2 {
			continue
		}
		free := float64(len(xs) - 1)
		squares += free * stat.Variance(xs, nil)
		df += free
	}
	if df == 0 {
		return 0, 0
	}
	return math.Sqrt(squares / df), df
}
