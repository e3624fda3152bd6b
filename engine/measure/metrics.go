package measure

import "slices"

// catalogue holds every metric in the order in which docs list them. Lookup
// finds the first of a name, so what is addressed below a workload or engine
// stands before what a GPU or the host calls the same.
var catalogue = slices.Concat(requestMetrics, cellMetrics, acceptPositions(), launchMetrics, gpuMetrics, hostMetrics)

// Catalogue returns every metric, in the order in which docs list them. The
// slice is the caller's.
func Catalogue() []Metric { return slices.Clone(catalogue) }

// Lookup returns the metric of that name. What is taken of the engine, its GPUs
// and the host may have one name (memory_gb): this finds the engine's, and
// LookupIn the others.
func Lookup(name string) (Metric, bool) { return LookupIn(name) }

// LookupIn returns the metric of that name in one of the scopes, or in any when
// none is given.
func LookupIn(name string, scopes ...Scope) (Metric, bool) {
	for _, m := range catalogue {
		if m.Name == name && (len(scopes) == 0 || slices.Contains(scopes, m.Scope)) {
			return m, true
		}
	}
	return Metric{}, false
}

// Path is how rules address the metric, with <workload> in the place of a cell's
// address: "<workload>.tg", "engine.startup_s", "gpu.power_w".
func (m Metric) Path() string {
	switch m.Scope {
	case PerLaunch:
		return "engine." + m.Name
	case PerGPU, PerHost:
		return string(m.Scope) + "." + m.Name
	}
	return "<workload>." + m.Name
}
