package measure

import "slices"

// stat is a statistic as rules name it.
type stat struct {
	name string
	// p is the probability of a quantile, 0 for the others.
	p float64
	// least is the fewest values it is given from.
	least int
}

// The quantiles' least numbers are the smallest n with 1 − pⁿ ≥ 0.95 (with
// fewer, the largest value seen is below the true quantile more than one time
// in twenty, so there is no upper bound to report). The median is exempt: it is
// the number that a launch contributes to a decision, and its uncertainty is
// judged across launches.
var stats = []stat{
	{name: "mean", least: 1},
	{name: "median", p: 0.50, least: 1},
	{name: "p50", p: 0.50, least: 1},
	{name: "p90", p: 0.90, least: 29},
	{name: "p95", p: 0.95, least: 59},
	{name: "p99", p: 0.99, least: 299},
	{name: "min", least: 1},
	{name: "max", least: 1},
	{name: "std", least: 2},
	{name: "cv", least: 2},
	{name: "n", least: 0},
	{name: "n_requests", least: 0},
}

// Stats returns the names of the statistics that rules may use. All but n
// (launches) and n_requests (requests) are found in Summary.Stats.
func Stats() []string {
	names := make([]string, len(stats))
	for i, s := range stats {
		names[i] = s.name
	}
	return names
}

// IsStat reports whether rules know a statistic of that name.
func IsStat(name string) bool {
	return slices.ContainsFunc(stats, func(s stat) bool { return s.name == name })
}

// LeastValues is the fewest values within a launch from which the statistic is
// given: 299 for p99. It is 0 for counts and for names that are no statistic.
func LeastValues(name string) int {
	for _, s := range stats {
		if s.name == name {
			return s.least
		}
	}
	return 0
}

// LeastToDecide is the fewest values within a launch from which a rule on the
// statistic is decided: one more of p99 than it is given from, 300 (see
// docs/statistics.md).
func LeastToDecide(name string) int {
	if name == "p99" {
		return 300
	}
	return LeastValues(name)
}

// Percentile is the probability of a quantile by its name, 0.99 of p99; it
// reports false for statistics that are none.
func Percentile(name string) (p float64, ok bool) {
	for _, s := range stats {
		if s.name == name && s.p > 0 {
			return s.p, true
		}
	}
	return 0, false
}
