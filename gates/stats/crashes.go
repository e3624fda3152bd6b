package stats

import "gonum.org/v1/gonum/mathext"

// AtMost is the upper bound, at this confidence (0.95), of the crash rate after so many
// crashes in n tries: the exact bound of Clopper and Pearson, 3/n for none in many. It is
// 1, which says nothing, without tries or for impossible numbers.
func AtMost(crashes, n int, confidence float64) float64 {
	if crashes < 0 || crashes >= n || !(confidence > 0 && confidence < 1) {
		return 1
	}
	return mathext.InvRegIncBeta(float64(crashes+1), float64(n-crashes), confidence)
}
