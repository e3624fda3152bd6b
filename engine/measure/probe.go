package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mxflow/mxflow/engine/measure/capacity"
)

// Probe is one rate at which a cell was sent in search of its capacity. Rate and limits are
// the CellRun's.
type Probe struct {
	// Of is the address of the cell whose capacity is searched.
	Of string `json:"of"`
	// Share of the requests must be within each limit, and ErrorShare of them at most may
	// fail; 0 if failed ones only count as outside of each limit.
	Share      float64 `json:"share"`
	ErrorShare float64 `json:"error_share,omitempty"`
	// Late is set if the client was: the probe does not count.
	Late bool `json:"late,omitempty"`
	// Requests and Violations are capacity.Probe's, by CellRun.Criteria. Quantiles, in ms,
	// are those of Shown that the requests are enough for, by the metrics that have limits.
	Requests   int                  `json:"requests"`
	Violations []float64            `json:"violations"`
	Quantiles  map[string][]float64 `json:"quantiles,omitempty"`
}

// Shown are the statistics of Probe.Quantiles, in order.
var Shown = []string{"p50", "p90", "p99"}

// Of is the address of the plan's cell that was sent, of a probe that whose capacity is
// searched.
func (c CellRun) Of() string {
	if c.Probe != nil {
		return c.Probe.Of
	}
	return c.Cell
}

func (c CellRun) searches(of string) bool { return c.Probe != nil && c.Probe.Of == of }

// Criteria are what a probe is to keep, by metric.
func (c CellRun) Criteria() (slo []capacity.Criterion) {
	order := []string{"ttft", "tpot", "itl", "e2e"}
	for _, metric := range slices.SortedFunc(maps.Keys(c.SLO), func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a), slices.Index(order, b)), cmp.Compare(a, b))
	}) {
		slo = append(slo, capacity.Criterion{Metric: metric, Limit: c.SLO[metric], Share: c.Probe.Share})
	}
	if c.Probe.ErrorShare > 0 {
		slo = append(slo, capacity.Criterion{Metric: "errors", Share: 1 - c.Probe.ErrorShare})
	}
	return slo
}

// Counted is the probe with the numbers that come from its samples. A request that failed
// violates every limit, and one with several values, as of itl, violates it in part.
func (c CellRun) Counted(samples []Sample) *Probe {
	slo, answers := c.Criteria(), answersOf(samples, c)
	p := *c.Probe
	p.Requests, p.Violations, p.Quantiles = len(answers), make([]float64, len(slo)), map[string][]float64{}
	for _, a := range answers {
		for i, criterion := range slo {
			values, over := a.values[criterion.Metric], 0
			for _, v := range values {
				if !(v <= criterion.Limit) {
					over++
				}
			}
			switch {
			case criterion.Metric == "errors" && a.values != nil:
			case len(values) == 0:
				p.Violations[i]++
			default:
				p.Violations[i] += float64(over) / float64(len(values))
			}
		}
	}
	all := summarize(answers)
	for _, criterion := range slo {
		for _, stat := range Shown {
			if x, has := all[criterion.Metric].Stats[stat]; has {
				p.Quantiles[criterion.Metric] = append(p.Quantiles[criterion.Metric], x)
			}
		}
	}
	return &p
}

// Rated is the probe of a cell as the search sees it.
func (c CellRun) Rated() capacity.Probe {
	return capacity.Probe{Rate: c.Rate, Requests: c.Probe.Requests, Violations: c.Probe.Violations, Late: c.Probe.Late}
}

// Searched are the addresses of the cells whose capacity was searched, in order.
func (r Recording) Searched() (cells []string) {
	for _, c := range r.Cells {
		if c.Probe != nil && !slices.Contains(cells, c.Probe.Of) {
			cells = append(cells, c.Probe.Of)
		}
	}
	return cells
}

// Capacities are the rates that recorded searches found, by cell.
func (r Recording) Capacities() map[string]float64 {
	found := map[string]float64{}
	for _, of := range r.Searched() {
		if rate := Capacity(r.Cells, of).Rate; rate > 0 {
			found[of] = rate
		}
	}
	return found
}

// probes are those of a cell in the order in which they were sent, counted from samples.
func (r Recording) probes(of string) (slo []capacity.Criterion, all []capacity.Probe) {
	for _, c := range r.Cells {
		if c.searches(of) {
			c.Probe, slo = c.Counted(r.Samples), c.Criteria()
			all = append(all, c.Rated())
		}
	}
	return slo, all
}

// amounts are the metrics of all requests of a search together: what was sent and came back, at
// whatever rate.
var amounts = []string{"prompt_tokens", "output_tokens", "cached_tokens", "shortfall"}

// pooled are the answers of all probes of a cell.
func (r Recording) pooled(of string) (all []answer) {
	for _, c := range r.Cells {
		if c.searches(of) {
			all = append(all, answersOf(r.Samples, c)...)
		}
	}
	return all
}

// Capacity is what the recorded probes of a cell show.
func Capacity(cells []CellRun, of string) capacity.Result {
	var slo []capacity.Criterion
	var all []capacity.Probe
	for _, c := range cells {
		if c.searches(of) {
			slo, all = c.Criteria(), append(all, c.Rated())
		}
	}
	return capacity.Estimate(slo, all)
}

// probes compares what was counted in probes.
func (a *Agreement) probes(r Recording, tolerance float64) {
	for _, c := range r.Cells {
		if c.Probe == nil {
			continue
		}
		was, is := c.Probe.numbers(), c.Counted(r.Samples).numbers()
		for i := range max(len(was), len(is)) {
			a.compare(Difference{c.Cell, "probe", nth(was, i), nth(is, i)}, tolerance)
		}
	}
}

func nth(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "absent"
}

// numbers are what was counted, exactly.
func (p *Probe) numbers() (all []string) {
	values := p.Violations
	for _, metric := range slices.Sorted(maps.Keys(p.Quantiles)) {
		values = slices.Concat(values, p.Quantiles[metric])
	}
	all = append(all, strconv.Itoa(p.Requests))
	for _, x := range values {
		all = append(all, fmt.Sprint(x))
	}
	return all
}
