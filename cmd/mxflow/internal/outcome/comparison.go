package outcome

import (
	"fmt"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Grids prints tables of results below their titles, each with what it lacks.
func Grids(on table.Screen, grids []report.Grid) {
	for i, g := range grids {
		if i > 0 {
			fmt.Fprintln(on)
		}
		if g.Title != "" {
			fmt.Fprintf(on, "%s:\n", g.Title)
		}
		if t := g.Table(); len(g.Columns) > 0 {
			on.Table(t.Head, t.Rows)
		}
		if lacks := g.Lacking(); lacks != "" {
			on.Sentence(lacks)
		}
	}
}

// Comparison prints the tables of a decision that compares engines or cells of a matrix, and with
// all what knob values do to each metric; nothing if it has none.
func Comparison(on table.Screen, s *report.Summary, d *ledger.Decision, all bool) {
	if len(d.Rows) == 0 {
		return
	}
	fmt.Fprintf(on, "\n%s:\n", d.Node)
	Grids(on, s.Compared(d))
	for _, n := range report.RowNotes(d.Rows) {
		on.Sentence("- " + n)
	}
	on.Sentence(report.RowLegend)
	t := report.Effects(d.Effects)
	if len(t.Rows) == 0 || !all {
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
