package measure

import (
	"cmp"
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
	// Correction is how the subtracted latency was measured: "api" or "generation"; empty
	// if none was subtracted. Summaries with different corrections are not comparable.
	Correction string `json:"correction,omitempty"`
	// Stats maps "median", "mean", "p99", … to its value. A statistic that the sample is
	// too small for is absent: absence is never a pass.
	Stats map[string]float64 `json:"stats"`
}

// answer is a measured sample of a cell and its derived values: none if it failed.
type answer struct {
	*Sample
	values Values
}

// answersOf are the measured samples of a cell.
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
func summarize(answers []answer, cell CellRun) map[string]Summary {
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
		if drift, ok := driftOf(answers, name); ok {
			s.put(Drift, drift)
		}
		if name == "pp_corrected" || name == "ttft_corrected" {
			s.Correction = cell.Correction
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

// put keeps NaN and infinities out of a summary, whatever the arithmetic did.
func (s Summary) put(name string, x float64) {
	if !notFinite(x) {
		s.Stats[name] = x
	}
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

// stdOf is the sample standard deviation (divisor n − 1), in two passes.
func stdOf(sorted []float64, mean float64) float64 {
	sum := 0.0
	for _, x := range sorted {
		// Rounding the product keeps it from being fused with the sum.
		sum += float64((x - mean) * (x - mean))
	}
	return math.Sqrt(sum / float64(len(sorted)-1))
}

// stat is a statistic by its name in rules.
type stat struct {
	name string
	// p is the probability of a quantile, 0 for the others.
	p float64
	// least is the fewest values that it is computed from.
	least int
}

// The quantiles' least numbers are the smallest n with 1 − pⁿ ≥ 0.95 (with fewer, the
// largest value seen is below the true quantile more than one time in twenty, so there is
// no upper bound to report). The median is exempt: it is the number that a launch
// contributes to a decision, and its uncertainty is judged across launches.
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

// LeastValues is the fewest values within a launch for the statistic: 299 for p99. It is
// 0 for counts and for unknown names.
func LeastValues(name string) int {
	for _, s := range stats {
		if s.name == name {
			return s.least
		}
	}
	return 0
}

// LeastToDecide is the fewest values within a launch for a rule on the statistic to be
// decided: for p99 one more than LeastValues, 300 (see docs/statistics.md).
func LeastToDecide(name string) int {
	if name == "p99" {
		return 300
	}
	return LeastValues(name)
}

// Percentile is the probability of a quantile by its name, 0.99 for p99; it reports false
// for other statistics.
func Percentile(name string) (p float64, ok bool) {
	for _, s := range stats {
		if s.name == name && s.p > 0 {
			return s.p, true
		}
	}
	return 0, false
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
	var values []at
	for _, a := range answers {
		vs := a.values[name]
		if len(vs) != 1 {
			if len(vs) == 0 {
				continue
			}
			return 0, false
		}
		if !(vs[0] > 0) || math.IsInf(vs[0], 0) {
			return 0, false
		}
		values = append(values, at{due: a.Scheduled, value: vs[0]})
	}
	if len(values) < leastDrift {
		return 0, false
	}
	// By value if they were due at once, so the order of arrival does not matter.
	slices.SortFunc(values, func(x, y at) int {
		return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.value, y.value))
	})
	half := len(values) / 2
	median := func(part []at) float64 {
		var list []float64
		for _, v := range part {
			list = append(list, v.value)
		}
		slices.Sort(list)
		return Quantile(list, 0.5)
	}
	return math.Log(median(values[:half]) / median(values[len(values)-half:])), true
}

// SplitAddress splits the address of a metric: "chat.c16" and "tg" for chat.c16.tg. A
// cell's address may contain dots, a metric's name cannot.
func SplitAddress(address string) (cell, metric string) {
	i := strings.LastIndexByte(address, '.')
	return address[:max(0, i)], address[i+1:]
}
