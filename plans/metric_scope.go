package plans

import (
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// scoped is the catalogue by scope and name: power_w is one metric below a
// workload, and another below gpu.
var scoped = func() map[measure.Scope]map[string]measure.Metric {
	all := map[measure.Scope]map[string]measure.Metric{}
	for _, m := range measure.Catalogue() {
		if all[m.Scope] == nil {
			all[m.Scope] = map[string]measure.Metric{}
		}
		all[m.Scope][m.Name] = m
	}
	return all
}()

// metricOfWorkload is a metric that is addressed below a workload.
func metricOfWorkload(name string) (measure.Metric, bool) {
	m, ok := scoped[measure.PerRequest][name]
	if !ok {
		m, ok = scoped[measure.PerCell][name]
	}
	return m, ok
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
	if hint := didYouMean(given, names); hint != "" {
		return hint
	}
	if len(names) <= most {
		return " There is " + orList(names) + "."
	}
	return " There is " + strings.Join(names[:most], ", ") + " and more: docs/metrics.md has them all."
}
