package profiled

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/profile"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// PrintDiff prints how two profiles differ, with so many kernels of each part, 0 for all.
func PrintDiff(on table.Screen, d *profile.Diff, before, after string, most int) {
	fmt.Fprintf(on, "A: %s\nB: %s\n", before, after)
	for i := range d.Parts {
		printPartDiff(on, &d.Parts[i], most)
	}
}

func printPartDiff(on table.Screen, d *profile.PartDiff, most int) {
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
		title += fmt.Sprintf(": %s → %s %s from end to end (%s), %s", report.Tenths(scale*d.Step.A), report.Tenths(scale*d.Step.B), name, verdict.Percent(d.Step.B/d.Step.A-1, 1), with)
	}
	fmt.Fprintln(on, "\n"+title)
	changes := func(head string, rows [][]string) {
		fmt.Fprintln(on)
		on.Table([]string{head + ", " + name, "A", "B", "B − A", "explains"}, rows)
	}
	var rows [][]string
	for _, c := range d.Categories {
		rows = append(rows, changed(profile.Words(c.Name), c, scale))
	}
	rows = append(rows, changed("GPU in all", d.GPU, scale))
	for _, c := range d.Rest {
		rows = append(rows, changed(profile.Words(c.Name), c, scale))
	}
	if d.Step != nil {
		rows = append(rows, changed("end to end", *d.Step, scale))
	}
	changes("category", rows)
	rows = nil
	for _, c := range d.Waits {
		rows = append(rows, changed(profile.Words(c.Name), c, scale))
	}
	if rows != nil {
		changes("the GPU waits while", rows)
	}
	rows = nil
	shown, rest := report.First(d.Kernels, most)
	for _, c := range shown {
		rows = append(rows, changed(c.Short, c, scale))
	}
	if len(rest) > 0 {
		sum := 0.0
		for _, c := range rest {
			sum += c.Delta()
		}
		rows = append(rows, []string{fmt.Sprintf("(%d more)", len(rest)), "", "", signed(scale * sum), ""})
	}
	changes("kernel", rows)
}

// changed is a row: both sides, the difference, and how much of the change it explains.
func changed(name string, c profile.Change, scale float64) []string {
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
