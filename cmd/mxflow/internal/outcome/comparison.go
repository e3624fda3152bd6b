package outcome

import (
	"fmt"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Comparison prints the table of a decision that compares engines or cells of a matrix;
// nothing if it has none.
func Comparison(on table.Screen, d *ledger.Decision) {
	if len(d.Rows) == 0 {
		return
	}
	fmt.Fprintf(on, "\n%s:\n", d.Node)
	for i, t := range report.RowTables(d.Rows) {
		if i > 0 {
			fmt.Fprintln(on)
		}
		on.Table(t.Head, t.Rows)
	}
	for _, n := range report.RowNotes(d.Rows) {
		on.Sentence("- " + n)
	}
	on.Sentence(report.RowLegend)
	t := report.Effects(d.Effects)
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintln(on, "\nBest cells:")
	for _, line := range report.Best(d.Rows) {
		on.Sentence("- " + line)
	}
	on.Sentence(report.BestLegend)
	fmt.Fprintln(on)
	on.Table(t.Head, t.Rows)
	on.Sentence(report.EffectsLegend)
}
