package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
)

// planOptions are the command line of mxflow plan.
type planOptions struct {
	*app
	given           load.Options
	rerun, target   []string
	reuse, detailed bool
}

func newPlanCommand(a *app) *cobra.Command {
	o := &planOptions{app: a}
	c := &cobra.Command{
		Use:   "plan [PLAN]",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows for each node whether an apply would reuse the recorded outcome, decide
from launches on record, or work: run a step, qualify, benchmark; why, how many
launches that takes and about how long. Changes since the last apply come first.
Nothing is started or written.

A rule that was relaxed after its launches were seen is measured again.`,
		Example: `  mxflow plan plan.hcl
  mxflow plan --rerun all plan.hcl
  mxflow plan --detailed-exitcode plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	f := c.Flags()
	varFlag(f, &o.given.Inputs)
	suiteFlag(f, &o.given.Suite)
	nodeFlags(f, &o.rerun, &o.target)
	reuseFlag(f, &o.reuse)
	f.BoolVar(&o.detailed, "detailed-exitcode", false, "exit with 2 unless an apply would reuse every outcome")
	a.jsonFlag(f)
	return c
}

func (o *planOptions) run(ctx context.Context, args []string) error {
	o.fold()
	path, err := o.planOf(args)
	if err != nil {
		return err
	}
	loaded, g, err := o.load(path, o.given)
	if err != nil {
		return err
	}
	st, err := o.recordIfAny(path)
	if err != nil {
		return err
	}
	if st != nil {
		defer st.Close()
		if err := apply.SamePlan(st, loaded.Plan); err != nil {
			return err
		}
	}
	v, unidentified, err := o.preview(ctx, st, loaded.Plan, g)
	if err != nil {
		return err
	}
	if o.json {
		o.printJSON(v.JSON())
	} else {
		v.Print(o.screen())
	}
	if o.detailed && slices.ContainsFunc(v.States, func(st *runtime.State) bool {
		return st.Locked.IsZero() && !st.Recorded
	}) {
		o.exit = exitChanges
	}
	for _, n := range append(apply.MachineChanges(st, loaded.Plan), unidentified...) {
		o.note(n)
	}
	return nil
}

// preview is what an apply would do by the record, which may be nil.
func (o *planOptions) preview(ctx context.Context, st *store.Store, p *plans.Plan, g *runtime.Graph) (*view.Preview,
	[]verdict.Reason, error,
) {
	forced, targets, err := apply.Named(g, o.rerun, o.target)
	if err != nil {
		return nil, nil, err
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st, Reuse: o.reuse})
	if err != nil {
		return nil, nil, err
	}
	runner := &runtime.Runner{
		Plan: p, Graph: g, Journal: runtime.EmptyJournal{}, Step: lab.Step, Rerun: forced, Target: targets, Force: ctx,
	}
	if st != nil {
		runner.Journal = st.Journal()
	}
	states, err := runner.Reconcile()
	if err != nil {
		return nil, nil, err
	}
	v := &view.Preview{
		Plan: p, States: states, Estimate: apply.EstimateOf(p, apply.LaunchHistoryOf(st), states),
		Changes: changesOf(st, p, o.given.Inputs),
	}
	if p.Baseline != nil {
		v.Baseline, _ = lab.Variants.BaselineSpec() // only shown
	}
	return v, lab.Variants.Unidentified(), nil
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
