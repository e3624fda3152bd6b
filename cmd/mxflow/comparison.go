package main

import (
	"fmt"

	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// comparisons prints the tables of the engines that a run compared.
func (a *app) comparisons(s runtime.Summary) {
	for _, r := range s.Rows {
		if r.Decision != nil {
			a.comparison(r.Decision)
		}
	}
}

// comparison prints the table of one decision; nothing where it has none.
func (a *app) comparison(d *ledger.Decision) {
	if len(d.Rows) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s:\n", d.Node)
	for i, t := range report.Comparison(d.Rows) {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.printTable(t.Head, t.Rows)
	}
	for _, n := range report.ComparisonNotes(d.Rows) {
		fmt.Fprintln(a.stdout, "- "+n)
	}
	fmt.Fprintln(a.stdout, report.ComparisonLegend)
}
