package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/machine"
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

// parseMetrics reads a page in Prometheus' text format. A line that cannot be read is not there.
func parseMetrics(text []byte) (map[string][]series, error) {
	lines, _, err := machine.ParseMetrics(string(text), nil)
	if err != nil && len(lines) == 0 {
		return nil, fmt.Errorf("it is not a page of Prometheus metrics: %w", err)
	}
	all := map[string][]series{}
	for _, l := range lines {
		all[l.Name] = append(all[l.Name], series{l.Labels, l.Value})
	}
	return all, nil
}
