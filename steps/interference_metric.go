package steps

import (
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// decisiveMetrics are the metrics with a better direction that the criteria read
// that let a feature in, in their order.
func decisiveMetrics(f *plans.Feature) (list []*plans.Input) {
	for _, r := range decisive(f) {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Kind == plans.InputMetric && in.Better != "" && !in.MayBeZero() && !in.Counts() {
				list = append(list, in)
			}
		}
	}
	return list
}

// commonMetric is the first decisive metric of the first part that decided over all
// others too; nil where there is none.
func commonMetric(parts []part) *plans.Input {
	for _, in := range decisiveMetrics(parts[0].feature) {
		common := true
		for _, p := range parts[1:] {
			common = common && slices.ContainsFunc(decisiveMetrics(p.feature), func(other *plans.Input) bool {
				return other.Cell == in.Cell && other.Metric == in.Metric
			})
		}
		if common {
			return in
		}
	}
	return nil
}
