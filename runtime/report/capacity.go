package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/measure/capacity"
	"github.com/mxflow/mxflow/gates/verdict"
)

// ProbesOf are the probes of a cell's search, by rate; none if its capacity was not searched.
func ProbesOf(cells []measure.CellRun, of string) []measure.CellRun {
	all := slices.DeleteFunc(slices.Clone(cells), func(c measure.CellRun) bool {
		return c.Probe == nil || c.Probe.Of != of
	})
	slices.SortStableFunc(all, func(a, b measure.CellRun) int { return cmp.Compare(a.Rate, b.Rate) })
	return all
}

// CurveBars is the column of CurveTable that draws the one before it.
const CurveBars = 3

// CurveTable has a row for each probe, by rate: which share of its requests kept all limits
// and each of them, drawn as bars as well, and times.
func CurveTable(probes []measure.CellRun) (t Table) {
	t.Head = []string{"req/s", "requests", "keeps the SLO", ""}
	for n, p := range probes {
		slo, rated := p.Criteria(), p.Rated()
		_, least, keeps := rated.Worst(slo)
		word := map[bool]string{true: "yes", false: "no"}[keeps]
		if p.Probe.Late {
			word = "client late"
		}
		row := []string{
			verdict.Short(p.Rate, ""), fmt.Sprint(p.Probe.Requests), word,
			strings.Repeat("█", int(math.Round(bar*max(least, 0)))),
		}
		for i, c := range slo {
			head, part := []string{CriterionText(c)}, 1-rated.Violated(i)
			if c.Limit == 0 {
				part = rated.Violated(i) // of errors, as the limit has them
			}
			if row = append(row, share(part)); c.Limit > 0 {
				var times []string
				for _, x := range p.Probe.Quantiles[c.Metric] {
					times = append(times, verdict.Short(x, ""))
				}
				head = append(head, c.Metric+" "+strings.Join(measure.Shown, "/"))
				row = append(row, strings.Join(times, "/"))
			}
			if n == 0 {
				t.Head = append(t.Head, head...)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// bar is the length of a whole one.
const bar = 10

func share(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// CriterionText is a criterion as a command line has it: "p99 ttft ≤ 500 ms".
func CriterionText(c capacity.Criterion) string {
	if c.Limit == 0 {
		return fmt.Sprintf("errors ≤ %.3g%%", 100*(1-c.Share))
	}
	return fmt.Sprintf("p%.4g %s ≤ %s", 100*c.Share, c.Metric, verdict.Number(c.Limit, "ms"))
}

// CapacityText is what a search found: "12.3 req/s, where p99 ttft ≤ 500 ms ends".
func CapacityText(r capacity.Result) string {
	switch {
	case r.Rate == 0:
		return "unknown"
	case !r.AtLeast && !r.Known():
		return fmt.Sprintf("about %s: %d requests near it, of %d that %s takes", verdict.Number(r.Rate, "req/s"),
			r.Near, r.Need, CriterionText(r.Limiting))
	case r.AtLeast:
		return fmt.Sprintf("at least %s: every rate kept the SLO", verdict.Number(r.Rate, "req/s"))
	}
	return fmt.Sprintf("%s: beyond it %s fails", verdict.Number(r.Rate, "req/s"), CriterionText(r.Limiting))
}
