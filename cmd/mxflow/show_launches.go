package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// launches prints what the launches of a run came to, and a table of the
// headline metrics for each workload; with all, every metric of each.
func (a *app) launches(launches []*ledger.Launch, all bool) {
	if len(launches) == 0 {
		return
	}
	var rows [][]string
	for _, l := range launches {
		rows = append(rows, []string{l.ID, l.Variant, launchOK(l), fmt.Sprintf("%.1f", l.Seconds), strings.Join(launchWords(l), "\n")})
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"launch", "variant", "ok", "seconds", "to know"}, rows)
	few := false
	for _, g := range report.Groups(launches) {
		few = a.group(g, launches) || few
	}
	if few {
		fmt.Fprintln(a.stdout, "\nn 8/299: a percentile that 8 values do not show; it takes 299.")
	}
	if all {
		for _, l := range launches {
			a.everything(l)
		}
	}
	a.observed(launches)
	if !all {
		fmt.Fprintln(a.stdout, "\nEvery metric with all its statistics: mxflow show LAUNCH, or --all.")
	}
}

// launchOK is how a launch ended: one that is invalid was complete, and what it
// measured does not count.
func launchOK(l *ledger.Launch) string {
	switch {
	case !l.OK:
		return "no"
	case len(l.Invalid) > 0:
		return "invalid"
	}
	return "yes"
}

// launchWords are what is to be known of a launch beside its numbers.
func launchWords(l *ledger.Launch) (words []string) {
	if !l.Error.IsZero() {
		words = append(words, tell.Line(l.Error))
	}
	words = append(words, tell.Lines(l.Invalid)...)
	if state := l.Engine["caches"]; state != "" {
		words = append(words, state+" caches")
	}
	return append(words, tell.Lines(l.Notes)...)
}

// group prints a row for each cell of a workload and launch. It reports whether
// there were too few values for a column.
func (a *app) group(g report.Group, launches []*ledger.Launch) (few bool) {
	workload := !slices.Contains([]string{"command", "engine", "gpu"}, g.Name)
	heads := []string{"launch", "variant"}
	if workload {
		heads = []string{g.Name, "sent", "launch"} // whose ID names the variant
	}
	for _, c := range g.Columns {
		heads = append(heads, c.Head)
	}
	var rows [][]string
	for _, cell := range g.Cells {
		name, sent := cell, report.Sent(launches, cell)
		for _, l := range launches {
			numbers, any := make([]string, len(g.Columns)), false
			for i, c := range g.Columns {
				text, lacks := number(l, c, cell)
				numbers[i], few, any = text, few || lacks, any || text != "–"
			}
			if !any {
				continue
			}
			row := []string{l.ID, l.Variant}
			if workload {
				row = []string{name, sent, l.ID}
				name, sent = "", "" // said once
			}
			rows = append(rows, append(row, numbers...))
		}
	}
	if len(rows) > 0 && len(g.Columns) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable(heads, rows)
	}
	return few
}

// number is one column of a launch.
func number(l *ledger.Launch, c report.Column, cell string) (text string, few bool) {
	s, ok := c.Of(l, cell)
	if !ok {
		return "–", false
	}
	return statistic(s, c.Stat)
}
