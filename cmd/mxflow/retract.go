package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/overruling"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newRetractCommand(a *app) *cobra.Command {
	var by signature
	c := &cobra.Command{
		Use:   "retract NODE [PLAN]",
		Short: "Withdraw a decided outcome that turned out wrong",
		Long: `Records that an outcome was wrong: who says so, and why. NODE is an address as
status shows it, or the name of a feature or a phase. The outcome becomes invalid,
and with it every gate and feature that depends on it; later phases are locked.
Earlier decisions stay in the record.

An apply does not decide the node again on its own: use --rerun, or change what is
measured. Once the node is decided again, what was withdrawn with it is decided again
from recorded launches. Measurements are withdrawn only if NODE names one
(feature.NAME.benchmark, feature.NAME.qualify, baseline).

The plan of the newest run, as that run recorded it, tells what depends on the node. If
it can no longer be read, everything decided later is withdrawn; the next apply decides
again what was withdrawn needlessly.`,
		Example: "  mxflow retract kv_cache --reason 'the prompts were cached' --by kim plan.hcl\n" +
			"  mxflow apply --rerun kv_cache plan.hcl",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := by.check(); err != nil {
				return err
			}
			return recordRetraction(a, args, by)
		},
	}
	by.flags(c)
	a.jsonFlag(c, "print what was withdrawn as JSON")
	return c
}

func recordRetraction(a *app, args []string, by signature) error {
	st, done, err := writer(a, args[1:])
	if err != nil {
		return err
	}
	defer done()
	node, alternative, err := view.Argued(st, args[0])
	if err != nil {
		return err
	}
	if alternative != "" {
		return fmt.Errorf("%s is one of the values that %s chose from and has no outcome of its own: mxflow retract %s withdraws the choice", alternative, node, view.Short(node))
	}
	d, err := overruling.Standing(st, node)
	if err != nil {
		return fmt.Errorf("there is nothing to retract: %w", err)
	}
	switch {
	case d.Retracted():
		return fmt.Errorf("%s is already invalid: %s. mxflow apply --rerun %s decides it again", node, d.Retraction.Of(node).String(), overruling.RerunName(d.Decision))
	case d.Withdrawn():
		return fmt.Errorf("%s is already invalid: %s. It is decided again once %s is: if it is wrong on its own, retract it then", node, d.Retraction.Of(node).String(), d.Retraction.Node)
	case !d.Verdict.Decided():
		return fmt.Errorf("%s %s (attempt %d): it unlocks nothing to withdraw", node, verdict.Did(d.Verdict), d.Attempt)
	}
	var g *runtime.Graph
	p, unknown := a.planOfRun(st, args[1:])
	if unknown == nil {
		g, unknown = runtime.NewGraph(p)
	}
	resting, locked, rough := overruling.Resting(st, d, g, unknown)
	if a.secrets.Active() {
		st.CleanWith(func(r *ledger.Record) { a.secrets.Clean(r, apply.Identities...) })
	}
	now := time.Now().UTC()
	var records []*ledger.Record
	for _, was := range append([]store.Decided{d}, resting...) {
		withdrawn := was.Withdraw(ledger.Retraction{Node: node, Reason: by.reason, By: by.by})
		records = append(records, &ledger.Record{Type: "decision", Time: now, Run: was.Run, Decision: withdrawn})
	}
	if err := st.Append(records...); err != nil {
		return a.fail(verdict.ExitBroken, err)
	}
	if a.json {
		a.printJSON(overruling.JSON(records, locked))
	} else {
		overruling.Print(a.stdout, d, records, locked)
	}
	if rough != "" {
		fmt.Fprintf(a.stderr, "note: %s: everything decided after it is withdrawn; the next apply decides again what does not depend on it\n", rough)
	}
	return nil
}
