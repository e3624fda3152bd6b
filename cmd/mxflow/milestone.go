package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/overruling"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

func newMilestoneCommand(a *app) *cobra.Command {
	var m ledger.Milestone
	plan, at := "", ""
	c := &cobra.Command{
		Use:   "milestone [NAME]",
		Short: "Name the state at the end of a run, or list the names",
		Long: `Records a run as a milestone: the decisions up to its end can be named later, as in
mxflow report --since NAME and mxflow compare NAME latest, and mxflow history marks it.
A name cannot be reused or moved: it is a line of the ledger, which audit verify covers.

Without NAME it lists the milestones. No apply can be running when one is recorded.`,
		Example: "  mxflow milestone v0.1 --note 'CUTLASS by default'\n" +
			"  mxflow milestone before-spec --at 20261120T0941\n" +
			"  mxflow milestone",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("one name, not %d: the plan is given with --plan", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var of []string
			if plan != "" {
				of = []string{plan}
			}
			if len(args) == 0 {
				if c.Flags().Changed("at") || c.Flags().Changed("note") {
					return fmt.Errorf("--at and --note belong to a new milestone: name it")
				}
				return listMilestones(a, of)
			}
			m.Name = args[0]
			if err := ledger.CheckMilestone(m.Name); err != nil {
				return err
			}
			if c.Flags().Changed("note") {
				var err error
				if m.Note, err = overruling.OneLine("note", m.Note, 2000, "what it is"); err != nil {
					return err
				}
			}
			return recordMilestone(a, of, &m, at)
		},
	}
	c.Flags().StringVar(&at, "at", "latest", "the `RUN` that it names: its ID, or its first characters")
	c.Flags().StringVar(&m.Note, "note", "", "what it is, in one line")
	c.Flags().StringVar(&plan, "plan", "", "the plan (default: the one of this folder)")
	a.jsonFlag(c, "print as JSON")
	return c
}

func recordMilestone(a *app, plan []string, m *ledger.Milestone, at string) error {
	st, done, err := writer(a, plan)
	if err != nil {
		return err
	}
	defer done()
	run, err := st.Run(at)
	if err != nil {
		return fmt.Errorf("--at: %w", err)
	}
	if !run.Done {
		return fmt.Errorf("--at: run %s has not ended, or was killed: apply again, and name the run that ends", run.ID)
	}
	for _, other := range report.Milestones(st) {
		if other.Name == m.Name {
			return fmt.Errorf("milestone %q has been run %s since %s, and names are not reused: choose another", m.Name, other.Run, ledger.Minute(other.Marked))
		}
	}
	if err := st.Append(&ledger.Record{Type: "milestone", Time: time.Now().UTC(), Run: run.ID, Milestone: m}); err != nil {
		return a.fail(verdict.ExitBroken, err)
	}
	made, err := report.MilestoneNamed(st, m.Name)
	if err != nil {
		return err
	}
	if a.json {
		a.printJSON(made)
		return nil
	}
	fmt.Fprintf(a.stdout, "Milestone %s is run %s of %s.\n", made.Name, made.Run, ledger.Minute(made.At))
	return nil
}

func listMilestones(a *app, plan []string) error {
	st, err := a.reader(plan)
	if err != nil {
		return err
	}
	defer st.Close()
	all := report.Milestones(st)
	if a.json {
		a.printJSON(map[string]any{"milestones": all})
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "No milestones. mxflow milestone NAME records the last run as one.")
		return nil
	}
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{m.Name, m.Run, tell.Minute(m.At), m.Note})
	}
	a.printTable([]string{"milestone", "run", "ended", "note"}, rows)
	return nil
}
