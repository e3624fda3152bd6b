package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/steps"
)

// replayOptions are the command line of mxflow audit replay.
type replayOptions struct {
	*app
	node string
	vars []load.Given
}

func newReplayCommand(a *app) *cobra.Command {
	o := &replayOptions{app: a}
	c := &cobra.Command{
		Use:   "replay [PLAN|FILE]",
		Short: "Decide everything again from raw data, and compare",
		Long: `Decides every recorded decision about levels, features and gates again: levels from
the answers, logs and outputs that launches kept, metrics from the raw samples,
rules from the plan that the run recorded. Every verdict must be the same and
every number equal, bit for bit. What cannot be decided again is listed. Nothing
is started or written. FILE is an output of audit export.

Exit status: 0 everything agrees, 1 wrong usage, 2 something differs, 3 nothing
or not everything current could be decided again, 4 data are missing or damaged.

Sensitive values are never recorded: pass them again (--var, --var-file or
MXFLOW_VAR_name), or rules are compiled from the text in their decisions.`,
		Example: `  mxflow audit replay plan.hcl
  mxflow audit replay plan.hcl --node cutlass`,
		Args: cobra.MaximumNArgs(1),
		RunE: o.run,
	}
	c.Flags().StringVar(&o.node, "node", "", "only decisions about this `NODE`")
	varFlag(c.Flags(), &o.vars)
	a.jsonFlag(c.Flags())
	return c
}

func (o *replayOptions) run(_ *cobra.Command, args []string) error {
	st, err := o.evidence(args)
	if err != nil {
		if _, damaged := errors.AsType[*ledger.DamageError](err); damaged || errors.Is(err, errLedgerGone) {
			return o.fail(verdict.ExitBroken, err)
		}
		return err
	}
	defer st.Close()
	if o.node != "" {
		if o.node, err = view.Node(st, o.node); err != nil {
			return err
		}
	}
	r := replay.New(st, steps.Registry(), o.vars)
	r.Evaluator = steps.NewEvaluator(st) // levels are decided again too
	out := r.All(o.node)
	o.show(out, func() { view.Replay(o.screen(), out) })
	exit, err := out.Verdict()
	return o.fail(exit, err)
}
