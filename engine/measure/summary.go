package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary is one metric within one launch: its statistics over the values of
// that launch, never over launches.
type Summary struct {
	// Unit is the catalogue's unit: "tok/s", "ms", "s", "GB".
	Unit string `json:"unit"`
	// Better is "higher", "lower" or empty.
	Better Better `json:"better,omitempty"`
	// As is the workload metric that a plan maps a command's output to.
	As string `json:"as,omitempty"`
	// N is the number of values: requests, or gaps between tokens for itl.
	N int `json:"n"`
	// Requests is the number of requests that the values come from; 0 for a metric of the
	// launch. Rules call it n_requests.
	Requests int `json:"requests,omitempty"`
	// Stats maps "median", "mean", "p99", … to its value. A statistic that the sample is
	// too small for is absent: absence is never a pass.
	Stats map[string]float64 `json:"stats"`
}

// answer is a measured sample of a cell and its derived values: none if it failed.
type answer struct {
	*Sample
	values Values
}

func answersOf(samples []Sample, cell CellRun) []answer {
	var out []answer
	for i := range samples {
		s := &samples[i]
		if !s.Measured() || s.Workload != cell.Cell {
			continue
		}
		values, err := derive(*s, cell)
		if err != nil {
			values = nil
		}
		out = append(out, answer{s, values})
	}
	addOwn(out)
	return out
}

// summarize computes the statistics of every per-request metric over the answers of one
// cell of one launch. A metric that no answer has evidence for is absent, so without good
// answers there is none. The order of answers does not matter.
func summarize(answers []answer) map[string]Summary {
	values, requests := Values{}, map[string]int{}
	for _, a := range answers {
		for name, vs := range a.values {
			values[name] = append(values[name], vs...)
			requests[name]++
		}
	}
	out := map[string]Summary{}
	for name, vs := range values {
		s, ok := SummaryOf(name, vs)
		if !ok {
			continue
		}
		s.Requests = requests[name]
		if drift, ok := driftOf(answers, name); ok && !notFinite(drift) {
			s.Stats[Drift] = drift
		}
		out[name] = s
	}
	return out
}

// SummaryOf computes the statistics of one metric over values of one launch, in the
// catalogue's unit. It reports false for a name that is not a metric, for no values, and
// for values that are not finite: such a value is a broken measurement, and leaving it
// out would hide that.
func SummaryOf(name string, values []float64) (Summary, bool) {
	m, known := Lookup(name)
	if !known {
		return Summary{}, false
	}
	return m.Summary(values)
}

// Summary is SummaryOf for a metric that need not be in the catalogue, such as one
// declared by a plan.
func (m Metric) Summary(values []float64) (Summary, bool) {
	if len(values) == 0 || slices.ContainsFunc(values, notFinite) {
		return Summary{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Summary{Unit: m.Unit, Better: m.Better, N: len(sorted), Stats: map[string]float64{}}
	put := func(name string, x float64) { // finite, whatever the arithmetic did
		if !notFinite(x) {
			s.Stats[name] = x
		}
	}
	for _, st := range stats {
		if st.P > 0 && len(sorted) >= st.Least {
			put(st.Name, Quantile(sorted, st.P))
		}
	}
	mean := meanOf(sorted)
	put("min", sorted[0])
	put("max", sorted[len(sorted)-1])
	put("mean", mean)
	if len(sorted) < StatOf("std").Least {
		return s, true
	}
	// The sample standard deviation (divisor n − 1), in two passes.
	sum := 0.0
	for _, x := range sorted {
		// Rounding the product keeps it from being fused with the sum.
		sum += float64((x - mean) * (x - mean))
	}
	std := math.Sqrt(sum / float64(len(sorted)-1))
	put("std", std)
	if mean > 0 {
		put("cv", std/mean)
	}
	return s, true
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// meanOf sums in ascending order, so the order of arrival cannot change even the last
// bit, and stays within the values' range.
func meanOf(sorted []float64) float64 {
	n, sum := float64(len(sorted)), 0.0
	for _, x := range sorted {
		sum += x
	}
	return min(max(sum/n, sorted[0]), sorted[len(sorted)-1])
}

// Stat is a statistic of a metric within a launch, as rules name it.
type Stat struct {
	Name string
	// P is the probability of a quantile, 0 for the others.
	P float64
	// Least is the fewest values that it is computed from, and Decide those from which a
	// rule on it is decided: one more for p99 (see docs/statistics.md).
	Least, Decide int
	// Of is the one metric that has it; empty if all have.
	Of string
}

// The quantiles' least numbers are the smallest n with 1 − pⁿ ≥ 0.95 (with fewer, the
// largest value seen is below the true quantile more than one time in twenty, so there is
// no upper bound to report). The median is exempt: it is the number that a launch
// contributes to a decision, and its uncertainty is judged across launches. All but n
// (launches) and n_requests (requests) are found in Summary.Stats.
var stats = []Stat{
	{Name: "mean", Least: 1, Decide: 1},
	{Name: "median", P: 0.50, Least: 1, Decide: 1},
	{Name: "p50", P: 0.50, Least: 1, Decide: 1},
	{Name: "p90", P: 0.90, Least: 29, Decide: 29},
	{Name: "p95", P: 0.95, Least: 59, Decide: 59},
	{Name: "p99", P: 0.99, Least: 299, Decide: 300},
	{Name: "min", Least: 1, Decide: 1},
	{Name: "max", Least: 1, Decide: 1},
	{Name: "std", Least: 2, Decide: 2},
	{Name: "cv", Least: 2, Decide: 2},
	{Name: "n", Least: 0, Decide: 0},
	{Name: "n_requests", Least: 0, Decide: 0},
}

// Positions is how many positions of a draft have an acceptance rate: more than published
// drafters propose in a row.
const Positions = 16

// Position is the statistic of accept_rate for a draft's token at a position, from 1.
func Position(n int) string { return fmt.Sprint("pos", n) }

func init() {
	for n := range Positions {
		stats = append(stats, Stat{Name: Position(n + 1), Least: 1, Decide: 1, Of: "accept_rate"})
	}
}

// Stats returns the names of the metric's statistics that rules may use.
func (m Metric) Stats() (names []string) {
	for _, s := range stats {
		if s.Of == "" || s.Of == m.Name {
			names = append(names, s.Name)
		}
	}
	return names
}

// StatOf returns the statistic of that name; its own name is empty if there is none.
func StatOf(name string) Stat {
	i := slices.IndexFunc(stats, func(s Stat) bool { return s.Name == name })
	if i < 0 {
		return Stat{}
	}
	return stats[i]
}

// Quantile is the p-quantile of values in ascending order by the estimator
// that Hyndman and Fan (The American Statistician 50, 1996) number 8 and
// recommend: approximately median-unbiased whatever the distribution. With
// h = (n + 1/3)p + 1/3 it lies the fraction h − ⌊h⌋ of the way from the ⌊h⌋-th
// value to the next. At p = 0.5 it is the usual median.
//
// It is NaN for no values and for p outside [0, 1], and never leaves the range
// of the values.
func Quantile(ascending []float64, p float64) float64 {
	n := len(ascending)
	if n == 0 || !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	// Rounding products keeps them from being fused with sums, so all architectures
	// agree.
	h := float64((float64(n)+1.0/3)*p) + 1.0/3
	below := math.Floor(h)
	switch {
	case below < 1:
		return ascending[0]
	case below >= float64(n):
		return ascending[n-1]
	}
	k := int(below)
	lo, hi := ascending[k-1], ascending[k]
	// Rounding may carry the interpolation one last bit past its neighbours.
	return min(max(lo+float64((h-below)*(hi-lo)), lo), hi)
}

// Drift is the key in Summary.Stats for how far a metric moved during a launch's
// measurement: the log of the median of the first half of its requests minus that of the
// second, in the order in which they were due. Rules cannot read it. Over launches it
// shows whether an engine was still warming up, or a machine slowing down, during the
// measurement.
const Drift = "drift"

// leastDrift is how many requests it needs: two in each half.
const leastDrift = 4

// driftOf is the drift of a metric with one value per request, all above zero.
func driftOf(answers []answer, name string) (float64, bool) {
	type at struct {
		due   time.Duration
		value float64
	}
	var all []at
	for _, a := range answers {
		vs := a.values[name]
		if len(vs) == 0 {
			continue
		}
		if len(vs) > 1 || !(vs[0] > 0) || math.IsInf(vs[0], 0) {
			return 0, false
		}
		all = append(all, at{due: a.Scheduled, value: vs[0]})
	}
	if len(all) < leastDrift {
		return 0, false
	}
	// By value if they were due at once, so the order of arrival does not matter.
	slices.SortFunc(all, func(x, y at) int {
		return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.value, y.value))
	})
	var values []float64
	for _, x := range all {
		values = append(values, x.value)
	}
	half := len(values) / 2
	early, late := values[:half], values[len(values)-half:]
	slices.Sort(early)
	slices.Sort(late)
	return math.Log(Quantile(early, 0.5) / Quantile(late, 0.5)), true
}

// SplitAddress splits the address of a metric: "chat.c16" and "tg" for chat.c16.tg. A
// cell's address may contain dots, a metric's name cannot.
func SplitAddress(address string) (cell, metric string) {
	i := strings.LastIndexByte(address, '.')
	return address[:max(0, i)], address[i+1:]
}
