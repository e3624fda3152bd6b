package plans

import (
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// metricOfWorkload is a metric that is addressed below a workload: power_w is one
// metric there, and another below gpu.
func metricOfWorkload(name string) (measure.Metric, bool) {
	return measure.LookupIn(name, measure.PerRequest, measure.PerCell)
}

// workloadMetrics are their names, in the order of the catalogue.
func workloadMetrics() []string {
	return append(metricNames(measure.PerRequest), metricNames(measure.PerCell)...)
}

func metricNames(scope measure.Scope) (names []string) {
	for _, m := range measure.Catalogue() {
		if m.Scope == scope {
			names = append(names, m.Name)
		}
	}
	return names
}

// suggestMetric is a sentence with the metric closest to what was written, or
// with those that stand first in the catalogue.
func suggestMetric(given string, names []string) string {
	const most = 12
	if hint := usualMetric(given, names); hint != "" {
		return hint
	}
	if hint := didYouMean(given, names); hint != "" {
		return hint
	}
	if len(names) <= most {
		return " There is " + orList(names) + "."
	}
	return " There is " + strings.Join(names[:most], ", ") + " and more: docs/metrics.md has them all."
}
