package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Run prints a run: what it decided by which number, and what its variants came to; with all, every
// reason, and every launch with all its metrics.
func Run(on table.Screen, s *report.Summary, v *ledger.RunView, all bool) {
	fmt.Fprintf(on, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, verdict.Second(v.Started))
	if v.Done {
		fmt.Fprintf(on, "%s, exit status %d\n", v.Reason.String(), v.Exit)
	}
	if start := v.Start; start != nil {
		on.Sentence(start.Tool + verdict.Behind(" on ", verdict.Pairs(start.Environment, " ", ", ")))
	}
	fmt.Fprintln(on)
	if len(v.Decisions) == 0 {
		fmt.Fprintln(on, "This run decided nothing. What is on record: "+on.Command("status"))
	} else {
		decisions(on, s, v, all)
	}
	for i, share := range report.Limits(report.Parts(s.Arms, v.Launches)...) {
		if i == 0 {
			fmt.Fprintln(on)
		}
		fmt.Fprintln(on, share.String())
	}
	if all {
		allLaunches(on, v.Launches)
		return
	}
	perVariant(on, s, v)
	aside(on, v.Launches)
	if len(v.Launches) > 0 {
		one := v.Launches[0]
		for _, l := range v.Launches {
			if l.Purpose == ledger.ForBenchmark {
				one = l
			}
		}
		fmt.Fprintf(on, "\nEvery launch with all metrics: %s\nOne launch: %s\n",
			on.Command("show", "--all", v.ID), on.Command("show", one.ID))
	}
}

// decisions prints what a run decided.
func decisions(on table.Screen, s *report.Summary, v *ledger.RunView, all bool) {
	var rows [][]string
	var lines []string
	page, steps, attempts := new(verdict.Page), 0,
		slices.ContainsFunc(v.Decisions, func(d ledger.Decided) bool { return d.Attempt > 1 })
	for _, d := range v.Decisions {
		var w *ledger.Waiver
		for _, given := range v.Waivers {
			if given.About(d.Decision) {
				w = given
			}
		}
		r := report.RowOf(d, w, s.Now)
		if r.Overruled.State != "" {
			lines = append(lines, waivedLine(r))
		}
		feature := runtime.FeatureID(runtime.CandidateOf(d.Node))
		switch of := func(o ledger.Decided) bool { return o.Node == feature }; {
		case all:
		case measures(d.Node) && (d.Verdict == verdict.Pass || slices.ContainsFunc(v.Decisions, of)):
			continue
		case d.Kind == ledger.KindStep && d.Verdict == verdict.Pass && len(d.Rows) == 0:
			steps++
			continue
		}
		row := []string{nodeName(d.Node), r.Word()}
		if attempts {
			row = append(row, fmt.Sprint(d.Attempt), d.Because.String())
		}
		why := briefly(d.Decision)
		if all {
			why = report.Why(page, d.Decision, true)
		}
		rows = append(rows, append(row, strings.Join(why, "\n")))
	}
	if steps > 0 {
		rows = append(rows, []string{"and " + verdict.Count(steps, "step"), string(verdict.Pass)})
	}
	head := []string{"node", "verdict", "why"}
	if attempts {
		head = slices.Insert(head, 2, "attempt", "because")
	}
	on.Below(head, rows)
	if len(lines) > 0 {
		fmt.Fprintf(on, "\n%s\n", strings.Join(lines, "\n"))
	}
	for _, d := range v.Decisions {
		if len(d.Rows) > 0 {
			fmt.Fprintf(on, "\n%s:\n", d.Node)
			printBlocks(on, s.CompareBlocks(d.Decision, all))
		}
	}
}
