package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
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
		load, before, after := "", "", ""
		if len(outputs) > 1 {
			before = " + tg" + tokensLabel(c.Output)
		}
		if len(prompts) > 1 {
			after = " after pp" + tokensLabel(c.Prompt)
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
		pp := "pp"
		if r.Correction != "none" {
			pp = "pp_corrected"
		}
		rows = append(rows,
			c.row("pp"+tokensLabel(c.Prompt)+before+load, pp, "pp_total", "ttft", "", ""),
			c.row("tg"+tokensLabel(c.Output)+after+load, "tg", "tg_total", "", "tpot", "e2e"))
	}
	return rows
}

// head are the columns of a row: the speed of one request with its interval, the total of
// all in flight over the whole window, and times.
var head = []string{"test", "t/s", "95% interval", "window t/s", "ttft ms", "tpot ms", "e2e ms"}

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
		return verdict.Number(m.Mean, "")
	}
	return verdict.PlusMinus(m.Mean, *m.Std)
}

func interval(m *Metric) string {
	if m == nil || m.Low == nil {
		return ""
	}
	return verdict.Number(*m.Low, "") + " to " + verdict.Number(*m.High, "")
}

// tokensLabel is a length; "*" if each prompt or answer has its own.
func tokensLabel(n int) string {
	if n == 0 {
		return "*"
	}
	return strconv.Itoa(n)
}

// moreColumns are metrics of a whole cell. The measured ones form a second table: they
// need limits, speculation, a prefix cache, or watched GPUs.
var moreColumns = []struct{ metric, head string }{
	{"goodput", "goodput req/s"},
	{"slo_attainment", "slo_attainment"},
	{"accept_length", "accept_length"},
	{"accept_rate", "accept_rate"},
	{"prefix_hit_rate", "prefix_hit_rate"},
	{"power_w", "power W"},
	{"tokens_per_joule", "tok/J"},
	{"gpu_memory_in_use_gb", "GPU memory GB"},
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

// drawn is one table of the result.
type drawn struct {
	head []string
	rows [][]string
}

// tables are the non-empty ones.
func (r *Result) tables() []drawn {
	all := []drawn{{head, r.rows()}}
	if head, rows := r.more(); head != nil {
		all = append(all, drawn{head, rows})
	}
	return all
}

func (r *Result) Write(w io.Writer, format string, width int, colour bool) error {
	switch format {
	case "json":
		data, err := verdict.JSON(r)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		if err := json.Indent(&page, data, "", "  "); err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, page.String())
		return err
	case "md":
		r.markdown(w)
		return nil
	}
	fmt.Fprintf(w, "%s at %s (%s)\n\n", foreign.Line(r.Model), r.URL, r.Engine)
	for _, t := range r.tables() {
		table.Draw(w, t.head, t.rows, colour, width)
		fmt.Fprintln(w)
	}
	sentences := table.MaxColumn
	if width > 0 {
		sentences = min(sentences, width)
	}
	for _, line := range r.words() {
		fmt.Fprintln(w, table.Wrap(line, sentences))
	}
	return nil
}

// words are notes for reading the numbers, starting with why they do not count.
func (r *Result) words() (lines []string) {
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
	lines = append(lines, "window t/s: tokens of all requests over the time from the first send to the last end.", runs)
	lines = append(lines, fmt.Sprintf("The prompts are those of --seed %d.", r.Seed))
	if r.Correction != "none" {
		lines = append(lines, fmt.Sprintf("pp is corrected by the latency that mode %q measured; the uncorrected number is in --format json.", r.Correction))
	}
	return lines
}

func (r *Result) markdown(w io.Writer) {
	model := strings.ReplaceAll(report.Inert(foreign.Line(r.Model)), "|", `\|`)
	fmt.Fprintf(w, "%s at %s (%s)\n\n", model, report.Inert(r.URL), r.Engine)
	for _, t := range r.tables() {
		fmt.Fprintf(w, "| model | %s |\n|%s\n", strings.Join(t.head, " | "), strings.Repeat(" --- |", len(t.head)+1))
		for _, row := range t.rows {
			fmt.Fprintf(w, "| %s | %s |\n", model, report.Inert(strings.Join(row, " | ")))
		}
		fmt.Fprintln(w)
	}
	for _, line := range r.words() {
		fmt.Fprintf(w, "%s\n\n", report.Inert(line))
	}
}
