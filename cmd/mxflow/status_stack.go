package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// withStanding is what status and report add to the decisions in JSON.
func withStanding(st *store.Store, out map[string]any) map[string]any {
	out["stack"], out["targets"], out["hypotheses"] = report.AcceptedStack(st), report.Contests(st), report.Claims(st)
	out["interactions"] = report.Interactions(st)
	out["undecided"], out["not_in_plan"] = report.Undecided(st), report.Gone(st)
	return out
}

// printStack shows what was accepted, whom it beats, and what became of claims.
func (a *app) printStack(st *store.Store) {
	s := report.AcceptedStack(st)
	if len(s.Features) == 0 {
		fmt.Fprintln(a.stdout, "\naccepted stack: empty, which is the baseline")
	} else {
		fmt.Fprintf(a.stdout, "\naccepted stack: %s\n\n", s.Sum())
		a.reportTable(report.StackTable(s, atMinute))
		if len(s.Knobs) > 0 {
			fmt.Fprintf(a.stdout, "\nknobs: %s\nmxflow env accepted prints what reproduces it.\n", report.KnobWords(s.Knobs))
		}
	}
	if all := report.Contests(st); len(all) > 0 {
		fmt.Fprintln(a.stdout)
		a.reportTable(report.ContestTable(all))
		for _, n := range report.ContestNotes(all) {
			fmt.Fprintln(a.stdout, wrap(n, a.column()))
		}
	}
	if claims := report.Claims(st); len(claims) > 0 {
		fmt.Fprintln(a.stdout)
		a.reportTable(report.ClaimTable(claims))
		for _, n := range report.ClaimNotes(claims) {
			fmt.Fprintln(a.stdout, wrap(n, a.column()))
		}
	}
	for _, i := range report.Interactions(st) {
		fmt.Fprintf(a.stdout, "\n%s\n", wrap(i.Says(), a.column()))
	}
}

// reportTable prints a table of the report with heads as terminals have them.
func (a *app) reportTable(t report.Table) {
	heads := make([]string, len(t.Head))
	for i, h := range t.Head {
		heads[i] = strings.ToLower(h[:1]) + h[1:]
	}
	a.printTable(heads, t.Rows)
}
