package observe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mxflow/mxflow/engine/logscan"
)

// series is one line of a page of Prometheus metrics.
type series struct {
	labels map[string]string
	value  float64
}

// seriesPage are the series of a page by exact name, or why there are none.
type seriesPage struct {
	byName map[string][]series
	err    error
}

func (s series) fits(labels map[string]string) bool {
	for name, want := range labels {
		if s.labels[name] != want {
			return false
		}
	}
	return true
}

func labelText(labels map[string]string) string {
	var out []string
	for name, value := range labels {
		out = append(out, fmt.Sprintf("%s=%q", name, value))
	}
	slices.Sort(out)
	return "{" + strings.Join(out, ",") + "}"
}

// parseMetrics reads a page in Prometheus' text format. Of histograms and summaries it
// keeps what the page calls _sum and _count.
func parseMetrics(text []byte) (map[string][]series, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not a page of Prometheus metrics: %s", logscan.Clean(err.Error()))
	}
	all := map[string][]series{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			add := func(name string, value float64) {
				all[name] = append(all[name], series{labels, value})
			}
			switch {
			case m.Gauge != nil:
				add(name, m.Gauge.GetValue())
			case m.Counter != nil:
				add(name, m.Counter.GetValue())
			case m.Untyped != nil:
				add(name, m.Untyped.GetValue())
			case m.Histogram != nil:
				add(name+"_sum", m.Histogram.GetSampleSum())
				add(name+"_count", float64(m.Histogram.GetSampleCount()))
			case m.Summary != nil:
				add(name+"_sum", m.Summary.GetSampleSum())
				add(name+"_count", float64(m.Summary.GetSampleCount()))
			}
		}
	}
	return all, nil
}
