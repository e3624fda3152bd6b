package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where each phase stands",
		Long: `Shows the newest decision about each step, feature and gate, and whether an apply
is under way or was killed; the accepted stack with what each part gained and the
knob values that result; the plan's targets, who is beaten and by how much; and what
became of the hypotheses. It reads the state directory beside PLAN, or in the current
folder, and needs no lock.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, work, err := a.standingReader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			runs := st.Runs()
			if a.json {
				a.printJSON(withStanding(st, map[string]any{"runs": runs, "newest_run": work, "decisions": report.Standing(st), "locked": report.Locked(st), "overruled": report.OverruledNow(st, time.Now()), "waivers": st.Waivers()}))
				return nil
			}
			if len(runs) == 0 {
				fmt.Fprintln(a.stdout, "Nothing was applied here.")
				return nil
			}
			last := runs[len(runs)-1]
			fmt.Fprintf(a.stdout, "plan %s: %s\n\n", last.Plan, workSays(work, last))
			a.printTable([]string{"phase", "node", "verdict", "", "decided"}, statusRows(st))
			a.printOverruled(report.OverruledNow(st, time.Now()))
			a.printAgain(st)
			a.printStack(st)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

// printAgain says what was decided by rules that were moved after the launches were
// seen, or from more than one start.
func (a *app) printAgain(st *store.Store) {
	for _, d := range report.Standing(st) {
		if says := report.DecidedAgain(st, d); len(says) > 0 {
			fmt.Fprintf(a.stdout, "%s is %s (attempt %d): %s\n", d.Node, d.Verdict, d.Attempt, strings.Join(says, "; "))
		}
	}
}

// statusRows is what people decide by: baseline, steps, features and gates.
func statusRows(st *store.Store) [][]string {
	var rows [][]string
	now := time.Now()
	for _, d := range report.Standing(st) {
		if d.Kind == string(runtime.KindBenchmark) || d.Kind == string(runtime.KindQualify) && d.Node != runtime.BaselineID {
			continue
		}
		accepted := ""
		if d.Accepted {
			accepted = "accepted"
		}
		o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
		if note := o.Note(); note != "" {
			accepted = note
		}
		rows = append(rows, []string{d.Phase, d.Node, o.Word(), accepted, atMinute(d.Time)})
	}
	for _, l := range report.Locked(st) {
		rows = append(rows, []string{l.Phase, l.Node, "locked", l.Cause, ""})
	}
	return rows
}
