package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/sealing"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	planseal "github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

func newSealCommand(a *app) *cobra.Command {
	var vars []load.Given
	var limits planseal.Limits
	var by, out, suite string
	c := &cobra.Command{
		Use:   "seal [PLAN]",
		Short: "Sign the rules of a plan, with limits for those who propose ports",
		Long: `Signs what a plan judges by: rules, workloads, protocols, targets, engines, steps,
and the files that their commands name. apply --sealed then refuses any change and
names it. These stay open: the values of each --knob except its default, the
sources of each --source, and --features new features that take the criteria,
protocol and parent of a sealed feature of their phase.

The key is made on first use; mxflow audit key prints its public half.
MXFLOW_SIGNING_KEY replaces it.`,
		Example: `  mxflow seal --knob gemm --features 5 --launches 200 --hours 8 plan.hcl
  mxflow apply --sealed plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			by, err := author(by)
			if err != nil {
				return err
			}
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			loaded, _, err := a.load(path, load.Options{Inputs: vars, Suite: suite})
			if err != nil {
				return err
			}
			s, err := planseal.Of(loaded.Plan, limits)
			if err != nil {
				return err
			}
			s.By, s.Time = by, time.Now().UTC()
			text, err := s.Text()
			if err != nil {
				return err
			}
			file, err := signing.Path()
			if err != nil {
				return err
			}
			key, err := signing.Open(file)
			if err != nil {
				return err
			}
			signed, err := key.Sign(text)
			if err != nil {
				return err
			}
			out = cmp.Or(out, sealing.FileOf(path))
			if err := files.Replace(out, signed); err != nil {
				return err
			}
			tries := sealing.AllTries(s)
			a.show(map[string]any{
				"seal": out, "digest": s.Digest, "key": key.Public, "judged": len(s.Judged), "limits": s.Limits,
				"false_pass": s.FalsePass, "chance": s.Chance(tries),
			}, func() {
				fmt.Fprintf(a.stdout, "Sealed %s: %s, signed by %s+%08x in %s.\n", path,
					verdict.Count(len(s.Judged), "setting"), key.Name(), key.KeyHash(), out)
				if n := limits.Features; n > 0 {
					fmt.Fprintf(a.stdout,
						"Up to %s at a false pass rate of %.3g%% each (all tries at one: %.3g%%), so one that gains "+
							"nothing passes with a chance of at most %.3g%%.\n",
						verdict.Count(n, "proposed feature"), 100*s.FalsePass, 100*tries, 100*s.Chance(tries))
				}
			})
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	byFlag(c, &by)
	c.Flags().StringVar(&out, "out", "", "write to this `FILE` (default: beside the plan)")
	c.Flags().StringArrayVar(&limits.Knobs, "knob", nil, "knob, or `KNOB.VALUE`, that can be changed (repeatable)")
	c.Flags().StringArrayVar(&limits.Sources, "source", nil, "`ENGINE` whose source can be changed (repeatable)")
	c.Flags().IntVar(&limits.Features, "features", 0, "how many features can be proposed")
	c.Flags().IntVar(&limits.Launches, "launches", 0, "launches that all applies can make (0: no limit)")
	c.Flags().Float64Var(&limits.Hours, "hours", 0, "hours that their launches can take (0: no limit)")
	a.jsonFlag(c)
	return c
}

// holdTo makes an apply refuse whatever is not as s has it, and end where the launches or
// hours of its limits are used up.
func holdTo(s *planseal.Seal, file string, q *applying) {
	budget := &sealing.Budget{Limits: s.Limits}
	q.sealDigest = s.Digest
	q.sealed = func(loaded *load.Result, st *store.Store) error {
		moved, err := s.Changes(loaded.Plan)
		if err != nil {
			return err
		}
		if len(moved) > 0 {
			return fmt.Errorf("%s does not allow this plan; nothing was started:\n%s", file, sealing.Lines(moved))
		}
		return budget.Start(report.Spent(st))
	}
	q.budget = budget
}
