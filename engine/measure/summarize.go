package measure

import (
	"math"
	"slices"
)

// Summarize gives the statistics of every per-request metric over one cell of
// one launch: over the samples whose Workload is cell, that are measured and that
// Derive accepts. A metric that no sample has evidence for is absent, so the
// result of no good samples is empty. The order of samples does not matter.
func Summarize(samples []Sample, cell string) map[string]Summary {
	return summarize(answersOf(samples, CellRun{Cell: cell}), CellRun{Cell: cell})
}

// answer is a measured sample of a cell and what is derived from it: nothing
// where it failed.
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
	return out
}

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

// SummaryOf gives the statistics of one metric over values of one launch, in
// the catalogue's unit. It reports false for a name that is no metric, for no
// values, and when a value is not finite: such a value is a broken measurement,
// and leaving it out would hide that.
func SummaryOf(name string, values []float64) (Summary, bool) {
	m, known := Lookup(name)
	if !known {
		return Summary{}, false
	}
	return m.Summary(values)
}

// Summary is SummaryOf for a metric that need not be in the catalogue, such as
// one that a plan declares.
func (m Metric) Summary(values []float64) (Summary, bool) {
	if len(values) == 0 || slices.ContainsFunc(values, notFinite) {
		return Summary{}, false
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	s := Summary{Unit: m.Unit, Better: m.Better, N: len(sorted), Stats: map[string]float64{}}
	for _, st := range stats {
		if st.p > 0 && len(sorted) >= st.least {
			s.put(st.name, Quantile(sorted, st.p))
		}
	}
	lo, hi := sorted[0], sorted[len(sorted)-1]
	s.put("min", lo)
	s.put("max", hi)
	mean := meanOf(sorted)
	s.put("mean", mean)
	if len(sorted) < LeastValues("std") {
		return s, true
	}
	std := stdOf(sorted, mean)
	s.put("std", std)
	if mean > 0 {
		s.put("cv", std/mean)
	}
	return s, true
}

// put keeps NaN and infinities out of a summary, whatever arithmetic did.
func (s Summary) put(name string, x float64) {
	if !notFinite(x) {
		s.Stats[name] = x
	}
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// meanOf sums in ascending order, so that the order of arrival cannot change
// even the last bit, and stays within the values' range.
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
