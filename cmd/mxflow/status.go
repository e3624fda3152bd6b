package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where each phase stands",
		Long: `Shows whether an apply is under way or was killed, whether the plan's files are still
what was applied, and the newest decision about each step, feature and gate in the
plan's order, with what is locked, what no run has come to yet, and behind them what
the plan has no more; the accepted stack with what each part gained and the knob
values that result; the plan's targets, who is beaten and by how much; and what became
of the hypotheses. It reads the state directory beside PLAN, or in the current folder,
and needs no lock.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, work, err := a.standingReader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			runs := st.Runs()
			if a.json {
				a.printJSON(withStanding(st, map[string]any{"runs": runs, "newest_run": work, "plan": a.planNow(st, args), "decisions": report.Standing(st), "locked": report.Locked(st), "overruled": report.OverruledNow(st, time.Now()), "waivers": st.Waivers()}))
				return nil
			}
			if len(runs) == 0 {
				fmt.Fprintln(a.stdout, "Nothing was applied here.")
				return nil
			}
			last := runs[len(runs)-1]
			fmt.Fprintf(a.stdout, "plan %s: %s\n", last.Plan, workSays(work, last))
			if says := a.planNow(st, args).says(last.ID); says != "" {
				fmt.Fprintln(a.stdout, says)
			}
			fmt.Fprintln(a.stdout)
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
	said := false
	for _, d := range report.Standing(st) {
		if again := report.DecidedAgain(st, d); len(again) > 0 {
			if !said {
				fmt.Fprintln(a.stdout)
				said = true
			}
			fmt.Fprintf(a.stdout, "%s is %s (attempt %d): %s\n", d.Node, d.Verdict, d.Attempt, tell.Joined(again))
		}
	}
}

// statusRows is what people decide by: baseline, steps, features and gates.
func statusRows(st *store.Store) [][]string {
	var rows [][]string
	now := time.Now()
	var waived []string
	for _, o := range report.OverruledNow(st, now) {
		if o.State == "waived" {
			waived = append(waived, o.Node)
		}
	}
	for _, r := range report.Rows(st) {
		if measures(r.Node) {
			continue
		}
		row := []string{r.Phase, r.Node, "–", "not decided yet", ""}
		switch d := r.Decided; {
		case !r.Locked.IsZero():
			row[2], row[3] = "locked", tell.Line(r.Locked)
			if r.Locked.Code == code.Outcome && slices.Contains(waived, r.Locked.Subject) {
				row[3] += ", and waived since: the next apply goes on behind it"
			}
		case d != nil:
			o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
			row[2], row[3], row[4] = o.Word(), o.Note(), atMinute(d.Time)
			if row[3] == "" && d.Accepted {
				row[3] = "accepted" + chosenWord(d.Decision)
			}
		}
		if r.Gone {
			row[3] = "not in the plan any more"
		}
		rows = append(rows, row)
	}
	return rows
}

// chosenWord names the alternative that stands for a feature that chooses.
func chosenWord(d *ledger.Decision) string {
	for _, alt := range d.Alternatives {
		if alt.Chosen {
			return ": " + alt.Name
		}
	}
	return ""
}

// measures reports whether a node only measures what another one decides.
func measures(node string) bool {
	name := runtime.CandidateOf(node)
	return node == runtime.QualifyID(name) || node == runtime.BenchmarkID(name)
}
