package gates

import (
	"math"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
)

// SettledBy is the least number of launches an arm that likely settles what a look
// left open, as if its estimate and its standard deviation were the true ones; 0 where
// the most that a plan may make do not.
func SettledBy(t *verdict.Test, l verdict.Look) int {
	single := t.Against == ""
	arms := 2.0
	if single {
		arms = 1
	}
	sd := l.SE * math.Sqrt(float64(l.N)/arms)
	gap, at := l.Estimate-t.Theta, t.Pass
	if gap < 0 {
		gap, at = -gap, t.Fail
	}
	return stats.Settling(l.N, gap, sd, at, single)
}

// Needed is the estimate that would have passed a look with its spread, on the scale of
// the test.
func Needed(t *verdict.Test, l verdict.Look) float64 {
	return t.Theta + stats.Quantile(t.Pass, l.DF)*l.SE
}
