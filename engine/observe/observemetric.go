package observe

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mxflow/mxflow/engine/kinds"
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

// fromMetric is the value of the first of the pattern's names that the engine
// has. Names are matched exactly: a prefix would also catch _created and
// _per_pos_total. Series that differ are not added up, since gauges are repeated
// for each rank.
func (o *observer) fromMetric(ctx context.Context, p kinds.Pattern) Observation {
	if o.metrics == "" {
		return missing(p, "this kind of engine has no page of metrics")
	}
	if o.series == nil {
		o.series = &seriesPage{}
		text := o.page(ctx, o.metrics)
		if o.series.err = text.err; text.err == nil {
			o.series.byName, o.series.err = parseMetrics(text.text)
		}
	}
	if o.series.err != nil {
		return missing(p, "GET %s: %v", o.metrics, o.series.err)
	}
	for _, name := range p.Metric {
		all := o.series.byName[name]
		if len(all) == 0 {
			continue
		}
		var fit []series
		for _, s := range all {
			if s.fits(p.Labels) {
				fit = append(fit, s)
			}
		}
		if len(fit) == 0 {
			return missing(p, "none of the %d series of metric %s has the labels %s", len(all), name, labelText(p.Labels))
		}
		for _, s := range fit[1:] {
			if s.value != fit[0].value {
				return missing(p, "metric %s has %d series that differ (%s is %v, %s is %v): choose one with labels",
					name, len(fit), labelText(fit[0].labels), fit[0].value, labelText(s.labels), s.value)
			}
		}
		return observed(p, fit[0].value, "metric "+name)
	}
	return missing(p, "GET %s has no metric %s", o.metrics, strings.Join(p.Metric, " or "))
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

// parseMetrics reads a page in Prometheus' text format. Of histograms and
// summaries it keeps what the page calls _sum and _count.
func parseMetrics(text []byte) (map[string][]series, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is not a page of Prometheus metrics: %s", logscan.Clean([]byte(err.Error())))
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
