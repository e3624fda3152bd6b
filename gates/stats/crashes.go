package stats

import "gonum.org/v1/gonum/mathext"

// AtMost is the rate that crashes in n tries are less than with this confidence
// (0.95): the exact upper bound of Clopper and Pearson, 3/n for none in many. It
// is 1, which says nothing, without tries or where the numbers make no sense.
func AtMost(crashes, n int, confidence float64) float64 {
	if crashes < 0 || crashes >= n || !(confidence > 0 && confidence < 1) {
		return 1
	}
	return mathext.InvRegIncBeta(float64(crashes+1), float64(n-crashes), confidence)
}
