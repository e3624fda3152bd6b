package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/runtime/report"
)

// rows are two per cell, prefill and decode: tests as in llama-bench and llama-benchy, so
// their users recognize the numbers.
func (r *Result) rows() (rows [][]string) {
	prompts, outputs := map[int]bool{}, map[int]bool{}
	for _, c := range r.Cells {
		prompts[c.Prompt], outputs[c.Output] = true, true
	}
	for _, c := range r.Cells {
		if c.Trace != nil {
			lengths, _, _ := strings.Cut(c.Label, ",")
			prompt, output, _ := strings.Cut(lengths, " ")
			rows = append(rows, c.row(prompt, "pp", "pp_total", "ttft", "", ""),
				c.row(output, "tg", "tg_total", "", "tpot", "e2e"))
			continue
		}
		load, before, after := "", "", ""
		if len(outputs) > 1 {
			before = " + tg" + strconv.Itoa(c.Output)
		}
		if len(prompts) > 1 {
			after = " after pp" + strconv.Itoa(c.Prompt)
		}
		if c.Depth > 0 {
			load = fmt.Sprintf(" @ d%d", c.Depth)
		}
		switch {
		case c.Rate > 0:
			load += " (" + strconv.FormatFloat(c.Rate, 'g', -1, 64) + "/s)"
		case c.Concurrency > 1:
			load += fmt.Sprintf(" (c%d)", c.Concurrency)
		}
		rows = append(rows,
			c.row("pp"+strconv.Itoa(c.Prompt)+before+load, "pp", "pp_total", "ttft", "", ""),
			c.row("tg"+strconv.Itoa(c.Output)+after+load, "tg", "tg_total", "", "tpot", "e2e"))
	}
	return rows
}

// head are the columns of a row: the speed of one request with its interval, the total of
// all in flight over the whole window, and times.
var head = []string{"test", "t/s", "95% interval", "total t/s", "ttft ms", "tpot ms", "e2e ms"}

// row shows metrics of a cell, the first of them with its interval.
func (c Cell) row(test string, metrics ...string) []string {
	row := []string{test}
	for i, name := range metrics {
		m := c.Metrics[name]
		if row = append(row, spread(m)); i == 0 {
			row = append(row, interval(m))
		}
	}
	return row
}

// spread is "57.85 ± 0.21"; empty if nothing was measured.
func spread(m *Metric) string {
	switch {
	case m == nil:
		return ""
	case m.Std == nil:
		return verdict.Short(m.Mean, "")
	}
	return verdict.PlusMinus(m.Mean, *m.Std)
}

func interval(m *Metric) string {
	if m == nil || m.Low == nil {
		return ""
	}
	return verdict.Short(*m.Low, "") + " to " + verdict.Short(*m.High, "")
}

// moreColumns are metrics of a whole cell. The measured ones form a second table: they
// need limits, speculation or a prefix cache.
var moreColumns = []struct{ metric, head string }{
	{"goodput", "goodput req/s"},
	{"slo_attainment", "slo_attainment"},
	{"accept_length", "accept_length"},
	{"accept_rate", "accept_rate"},
	{"prefix_hit_rate", "prefix_hit_rate"},
	{"prefix_shared", "prefix_shared"},
	{"prefix_found", "prefix_found"},
	{"ttft_to_256", "ttft ms to 256"},
	{"ttft_to_1k", "to 1k"},
	{"ttft_to_4k", "to 4k"},
	{"ttft_to_16k", "to 16k"},
	{"ttft_longer", "longer"},
}

// more is the second table, empty if none of it was measured.
func (r *Result) more() (head []string, rows [][]string) {
	for _, column := range moreColumns {
		if !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Metrics[column.metric] != nil }) {
			continue
		}
		if head == nil {
			head = []string{"cell"}
			for _, c := range r.Cells {
				rows = append(rows, []string{c.Label})
			}
		}
		head = append(head, column.head)
		for i, c := range r.Cells {
			rows[i] = append(rows[i], spread(c.Metrics[column.metric]))
		}
	}
	return head, rows
}

// capacities are the found ones, and the last run's curve for each cell; none if none was
// searched.
func (r *Result) capacities() (all []report.Table) {
	found := report.Table{Head: []string{"test", "capacity req/s", "95% interval", "last run"}}
	for _, c := range r.Cells {
		if c.Capacity != nil {
			m := c.Metrics["capacity"]
			found.Rows = append(found.Rows, []string{c.Label, spread(m), interval(m), report.CapacityText(*c.Capacity)})
		}
	}
	if len(found.Rows) == 0 {
		return nil
	}
	all = append(all, found)
	for _, c := range r.Cells {
		all = append(all, report.CurveTable(report.ProbesOf(c.Probes, c.Probes[0].Probe.Of)))
	}
	return all
}

// Tables are the non-empty ones.
func (r *Result) Tables() []report.Table {
	if capacities := r.capacities(); len(capacities) > 0 {
		return capacities
	}
	all := []report.Table{{Head: head, Rows: r.rows()}}
	if head, rows := r.more(); head != nil {
		all = append(all, report.Table{Head: head, Rows: rows})
	}
	return all
}

// Notices are notes for reading the numbers, starting with why they do not count.
func (r *Result) Notices() (lines []string) {
	for _, why := range r.Invalid {
		lines = append(lines, foreign.Line("invalid: "+why.String()))
	}
	for _, n := range r.Notes {
		lines = append(lines, foreign.Line("note: "+n.String()))
	}
	if r.Interrupted.Missing > 0 {
		lines = append(lines, r.Interrupted.String())
	}
	most := r.Runs // and the one that was interrupted
	for _, c := range r.Cells {
		for _, m := range c.Metrics {
			most = max(most, len(m.Values))
		}
	}
	runs := fmt.Sprintf("%d runs of one server: mean ± sample standard deviation of the runs' medians.", most)
	if most < 2 {
		runs = "One run of one server: the spread is unknown without more runs."
	}
	for _, c := range r.Cells {
		if c.Trace != nil {
			lines = append(lines, c.Trace.File+": "+report.Traffic(c.Trace)+".")
		}
	}
	if r.capacities() == nil {
		lines = append(lines, "total t/s: tokens of all requests per second, from the first send to the last end.")
	}
	lines = append(lines, runs)
	lines = append(lines, fmt.Sprintf("The prompts are those of --seed %d.", r.Seed))
	var sampled []string
	for _, a := range Sampled() {
		if x, set := r.Sampling[a.Name]; set {
			sampled = append(sampled, fmt.Sprintf("--%s %v", FlagOf(a), x))
		}
	}
	if len(sampled) > 0 {
		lines = append(lines, "Tokens were sampled by "+strings.Join(sampled, " ")+".")
	}
	return lines
}

// Markdown writes both.
func (r *Result) Markdown(w io.Writer) {
	fmt.Fprintf(w, "%s at %s (%s)\n\n", report.Inert(foreign.Line(r.Model)), report.Inert(r.URL), r.Engine)
	for _, t := range r.Tables() {
		io.WriteString(w, t.Markdown())
	}
	for _, line := range r.Notices() {
		fmt.Fprintf(w, "%s\n\n", report.Inert(line))
	}
}
