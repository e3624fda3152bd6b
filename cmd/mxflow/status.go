package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newStatusCommand(a *app) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where each phase stands",
		Long: `Shows the newest decision of each step, feature and gate in the plan's order, and
what is locked or was not reached; the accepted stack with the gain of each part,
targets and hypotheses; and whether an apply is running, or the plan has changed
since.`,
		Example: `  mxflow status
  mxflow status --json plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.status(args, all) },
	}
	c.Flags().BoolVar(&all, "all", false, "also what proved that each port ran")
	a.jsonFlag(c.Flags())
	return c
}

func (a *app) status(args []string, all bool) error {
	a.fold()
	st, work, err := openStanding(a, args)
	if err != nil {
		return err
	}
	defer st.Close()
	if a.json {
		out := a.summary(st, args).JSON()
		out["newest_run"], out["plan"] = work, a.comparePlan(st, args)
		a.printJSON(out)
		return nil
	}
	runs := st.Runs()
	if len(runs) == 0 {
		fmt.Fprintln(a.stdout, "Nothing was applied here.")
		return nil
	}
	last := runs[len(runs)-1]
	fmt.Fprintf(a.stdout, "plan %s: %s\n", last.Plan, view.Work(work, last))
	if says := a.comparePlan(st, args).says(a.screen()); says != "" {
		fmt.Fprintln(a.stdout, says)
	}
	fmt.Fprintln(a.stdout)
	view.Status(a.screen(), a.reproduced(report.SummaryOf(st, nil, time.Now())), all)
	return nil
}

// openStanding opens a state directory and says how its newest run stands. That
// it was killed counts only where the ledger still has no end of it when it is read
// again after the lock was looked at: it may have come to its end in between, or
// another run have begun.
func openStanding(a *app, args []string) (*store.Store, report.Work, error) {
	seen := ""
	for {
		st, err := a.reader(args)
		if err != nil {
			return nil, report.Work{}, err
		}
		w := report.WorkOn(st)
		if w.Run == seen || w.State != report.Killed && w.State != report.Unknown {
			return st, w, nil
		}
		seen = w.Run
		st.Close()
	}
}
