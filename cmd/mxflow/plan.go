package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) planCommand() *cobra.Command {
	var vars []load.Given
	var rerun []string
	var suite string
	c := &cobra.Command{
		Use:   "plan PLAN",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows each node of the plan: reuse (the recorded outcome is kept), decide or
re-decide (from recorded launches) or measure, and why; how many launches that takes
and about how long. What depends on a gate that is still open says so. Nothing is
started and nothing is written.`,
		Example: "  mxflow plan plan.hcl\n  mxflow plan --rerun all plan.hcl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, g, _, err := a.load(args[0], vars, suite)
			if err != nil {
				return err
			}
			forced, unknown := runtime.RerunNodes(g, rerun)
			if len(unknown) > 0 {
				return fmt.Errorf("--rerun %s: there is no such phase, feature or node; see mxflow graph %s", unknown[0], args[0])
			}
			st, err := store.OpenReadOnly(a.stateDir(args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				st, err = nil, nil
			}
			if err != nil {
				return err
			}
			if st != nil {
				defer st.Close()
				if err := samePlan(st, p); err != nil {
					return err
				}
			}
			lab, err := a.lab(p, g, st, "", "")
			if err != nil {
				return err
			}
			runner := &runtime.Runner{Plan: p, Graph: g, Journal: journalOf(st), Step: lab.Step, Rerun: forced, Hard: c.Context()}
			preview, err := runner.Preview()
			if err != nil {
				return err
			}
			a.printPreview(p, preview, estimate(p, st, preview))
			a.machineNotes(st, p)
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "as in apply: show what it would measure again")
	a.jsonFlag(c, "print as JSON")
	return c
}

func journalOf(st *store.Store) runtime.Journal {
	if st == nil {
		return runtime.EmptyJournal{}
	}
	return runtime.StoreJournal(st)
}
