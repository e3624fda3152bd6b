package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

func newPlanCommand(a *app) *cobra.Command {
	var vars []load.Given
	var rerun, target []string
	var suite string
	var reuse, detailed bool
	c := &cobra.Command{
		Use:   "plan [PLAN]",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows for each node whether an apply would reuse the recorded outcome, decide
from launches on record, or measure; why, how many launches that takes and about
how long. Changes since the last apply come first. Nothing is started or written.

A rule that was relaxed after its launches were seen is measured again.`,
		Example: `  mxflow plan plan.hcl
  mxflow plan --rerun all plan.hcl
  mxflow plan --detailed-exitcode plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			loaded, g, err := a.load(path, load.Options{Inputs: vars, Suite: suite})
			if err != nil {
				return err
			}
			p := loaded.Plan
			forced, targets, err := apply.Named(g, rerun, target)
			if err != nil {
				return err
			}
			st, err := a.recordIfAny(path)
			if err != nil {
				return err
			}
			journal := runtime.Journal(runtime.EmptyJournal{})
			if st != nil {
				defer st.Close()
				journal = st.Journal()
				if err := apply.SamePlan(st, p); err != nil {
					return err
				}
			}
			lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st, Reuse: reuse})
			if err != nil {
				return err
			}
			runner := &runtime.Runner{
				Plan: p, Graph: g, Journal: journal, Step: lab.Step, Rerun: forced,
				Target: targets, Force: c.Context(),
			}
			shown, err := runner.Reconcile()
			if err != nil {
				return err
			}
			v := &view.Preview{
				Plan: p, States: shown, Estimate: apply.EstimateOf(p, apply.LaunchHistoryOf(st), shown),
				Changes: changesOf(st, p, vars),
			}
			if p.Baseline != nil {
				v.Baseline, _ = lab.Variants.BaselineSpec() // only shown
			}
			if a.json {
				a.printJSON(v.JSON())
			} else {
				v.Print(a.screen())
			}
			if detailed && slices.ContainsFunc(shown, func(st *runtime.State) bool {
				return st.Locked.IsZero() && !st.Recorded
			}) {
				a.exit = exitChanges
			}
			for _, n := range append(apply.MachineChanges(st, p), lab.Variants.Unidentified()...) {
				a.note(n)
			}
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	nodeFlags(c, &rerun, &target)
	reuseFlag(c, &reuse)
	c.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 unless an apply would reuse every outcome")
	a.jsonFlag(c)
	return c
}

// exitChanges is how plan --detailed-exitcode says that an apply has something to do.
const exitChanges = 2

// changesOf is what the plan has other than the newest run applied; nothing where that
// cannot be told.
func changesOf(st *store.Store, p *plans.Plan, vars []load.Given) []plans.Difference {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	run := st.Runs()[len(st.Runs())-1].ID
	if view, err := st.Run(run); err != nil || view.Start == nil || view.Start.PlanDigest == p.Digest() {
		return nil
	}
	was, _ := replay.New(st, steps.Registry(), vars).Plan(run)
	if was == nil {
		return nil
	}
	return p.Differences(was)
}
