package view

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// ProfileDiff prints how two profiles differ, with so many kernels of each part, 0 for all.
func ProfileDiff(on table.Screen, d *trace.Diff, before, after string, most int) {
	fmt.Fprintf(on, "A: %s\nB: %s\n", before, after)
	for i := range d.Parts {
		printPartDiff(on, &d.Parts[i], most)
	}
}

func printPartDiff(on table.Screen, d *trace.PartDiff, most int) {
	name, scale := "ms", 1e-3
	if d.Unit != "" {
		name, scale = "µs/"+d.Unit, 1
	}
	title := report.PartName(d.Phase, d.Requests)
	if d.Step != nil {
		with := "without the profiler"
		if d.Profiled {
			with = "with the profiler"
		}
		title += fmt.Sprintf(": %s → %s %s from end to end (%s), %s", report.Tenths(scale*d.Step.A),
			report.Tenths(scale*d.Step.B), name, verdict.Percent(d.Step.B/d.Step.A-1, 1), with)
	}
	fmt.Fprintln(on, "\n"+title)
	rows, left, rest := map[string][][]string{}, most, 0.0
	for _, c := range d.Changes {
		switch c.Kind {
		case trace.OfKernel:
			if left--; most > 0 && left < 0 {
				rest += c.Delta()
				continue
			}
			rows["kernel"] = append(rows["kernel"], changed(c.Short, c, scale))
		case trace.OfWait:
			rows["the GPU waits while"] = append(rows["the GPU waits while"], changed(trace.Words(c.Name), c, scale))
		default:
			rows["category"] = append(rows["category"], changed(trace.Words(c.Name), c, scale))
		}
	}
	if d.Step != nil {
		rows["category"] = append(rows["category"], changed("end to end", *d.Step, scale))
	}
	if left < 0 && most > 0 {
		rows["kernel"] = append(rows["kernel"],
			[]string{fmt.Sprintf("(%d more)", -left), "", "", signed(scale * rest), ""})
	}
	for _, head := range []string{"category", "the GPU waits while", "kernel"} {
		if rows[head] != nil {
			fmt.Fprintln(on)
			on.Table([]string{head + ", " + name, "A", "B", "B − A", "explains"}, rows[head])
		}
	}
}

// changed is a row: both sides, the difference, and how much of the change it explains.
func changed(name string, c trace.Change, scale float64) []string {
	explains := ""
	if c.Share != nil {
		explains = fmt.Sprintf("%.0f%%", math.Round(100**c.Share)+0)
	}
	return []string{name, report.Tenths(scale * c.A), report.Tenths(scale * c.B), signed(scale * c.Delta()), explains}
}

// signed is a difference of times.
func signed(x float64) string {
	if text := report.Tenths(x); text == "0.0" || x < 0 {
		return text
	}
	return "+" + report.Tenths(x)
}
