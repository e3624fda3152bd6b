package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/replay"
)

func newReplayCommand(a *app) *cobra.Command {
	var node string
	var vars []load.Given
	c := &cobra.Command{
		Use:   "replay [PLAN|FILE]",
		Short: "Decide every recorded level, feature and gate again from raw data and compare",
		Long: `Decides every recorded decision about levels, features and gates again, including
superseded ones: levels from the answers, logs and outputs that their launches kept,
metrics from the raw samples, rules from the plan that the run recorded,
launch-to-launch variance from the launches before the session. What cannot be decided
again (steps, whether a benchmark's launches count, levels in which the engine died) is
listed.
Every verdict of a rule or a comparison must come out the same, and every number bit
for bit (within 1e-9 if it was recorded on another architecture). Nothing is started
and nothing is written. FILE is an output of audit export.

Exit status: 0 everything agrees; 2 something came out differently, which is listed;
3 nothing could be decided again, or not every current decision, as its plan no longer
compiles; 4 the ledger is damaged, or raw data are missing or damaged; 1 wrong usage.

The recorded plan is compiled with the variables, the suite and the environment that
the run recorded, whatever is given now. Sensitive values are never recorded: with the
same --var, --var-file or MXFLOW_VAR_name as then, the whole plan is checked; without
them, each rule is compiled from the text recorded with its decision. What a changed plan
would decide on these launches: mxflow plan --on-seen-data CHANGED.`,
		Example: "  mxflow audit replay plan.hcl\n" +
			"  mxflow audit replay plan.hcl --node cutlass",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := evidence(a, args)
			if err != nil {
				var damage *ledger.DamageError
				if errors.As(err, &damage) || errors.Is(err, errLedgerGone) {
					return a.fail(verdict.ExitBroken, err)
				}
				return err
			}
			defer st.Close()
			if node != "" {
				if node, err = view.Node(st, node); err != nil {
					return err
				}
			}
			r := replay.New(st, steps.Registry(), vars)
			r.Judge = steps.NewJudge(st) // levels are decided again too
			out := view.Replayed(r, node)
			if a.json {
				a.printJSON(out)
			} else {
				out.Print(a.screen())
			}
			exit, err := out.Verdict()
			return a.fail(exit, err)
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().StringVar(&node, "node", "", "only decisions about this node")
	varFlag(c, &vars)
	return c
}
