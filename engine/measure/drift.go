package measure

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Drift is the key in Summary.Stats under which a launch keeps how far a metric
// moved while it was measured: the log of the median of the first half of its
// requests minus that of the second, in the order in which they were due. Rules
// cannot read it. Over launches it shows whether an engine was still warming up,
// or a machine slowing down, while it was measured.
const Drift = "drift"

// leastDrift is how many requests it takes: two in each half.
const leastDrift = 4

// driftOf is the drift of a metric that has one value a request, all above zero.
func driftOf(answers []answer, name string) (float64, bool) {
	type at struct {
		due   time.Duration
		value float64
	}
	var values []at
	for _, a := range answers {
		vs := a.values[name]
		if len(vs) != 1 {
			if len(vs) == 0 {
				continue
			}
			return 0, false
		}
		if !(vs[0] > 0) || math.IsInf(vs[0], 0) {
			return 0, false
		}
		values = append(values, at{due: a.Scheduled, value: vs[0]})
	}
	if len(values) < leastDrift {
		return 0, false
	}
	// By value where they were due at once, so that the order of arrival is no
	// part of it.
	slices.SortFunc(values, func(x, y at) int {
		return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.value, y.value))
	})
	half := len(values) / 2
	median := func(part []at) float64 {
		var list []float64
		for _, v := range part {
			list = append(list, v.value)
		}
		slices.Sort(list)
		return Quantile(list, 0.5)
	}
	return math.Log(median(values[:half]) / median(values[len(values)-half:])), true
}
