package imported

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
)

// definition is what a tool means by a name.
type definition struct {
	unit   string
	better measure.Better
	means  string
}

const unknownDefinition = "As the tool defines it; mxflow does not know how."

// metric makes a metric of a tool's definition of it; a name that is not known is
// kept with what its name says, and no direction.
func (d definition) metric(name string, stats map[string]float64) Metric {
	means := d.means
	if means == "" {
		means = unknownDefinition
	}
	return Metric{Name: name, Unit: d.unit, Better: d.better, Definition: means, Stats: stats}
}

// withValues adds the values behind a metric.
func (m Metric) withValues(values []float64) Metric {
	m.Values, m.N = slices.Clone(values), len(values)
	return m
}

const (
	higher  = measure.Higher
	lower   = measure.Lower
	neither = measure.Neither
)
