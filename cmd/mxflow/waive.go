package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/overruling"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

func newWaiveCommand(a *app) *cobra.Command {
	var by signature
	var expires string
	var revoke bool
	c := &cobra.Command{
		Use:   "waive GATE [PLAN]",
		Short: "Let the phases after a gate proceed even though it did not pass",
		Long: `Records that a person overrides the verdict of a gate: who, why and until when.
GATE is a phase, NAME or phase.NAME, whether or not it has a gate block, whose verdict
is fail, inconclusive or invalid. The verdict stays and is shown everywhere with the
waiver beside it; the next apply unlocks the phases after the gate, and does not
retry what did not pass in it.

A waiver covers one decision. When the gate is decided again (new evidence, changed
rules, --rerun) or the waiver expires, the gate locks again. The newest waiver counts;
--revoke withdraws it. This needs only the state directory, not the plan, and no apply
can be running in it.

WHEN is a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC) or an
instant (2026-12-24T18:00:00+01:00), at most a year from now.`,
		Example: "  mxflow waive cutlass --reason 'known regression, fixed in 0.12' --by kim --expires 14d plan.hcl\n" +
			"  mxflow waive cutlass --revoke --reason 'it was not fixed' --by kim plan.hcl",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			now := time.Now().UTC()
			w := &ledger.Waiver{Expires: now, Revoked: revoke}
			if err := by.check(); err != nil {
				return err
			}
			w.Reason, w.By = by.reason, by.by
			var err error
			switch {
			case revoke && expires != "":
				return errors.New("--expires sets when a new waiver ends, --revoke ends the old one now: use one of them")
			case !revoke:
				if w.Expires, err = overruling.Expiry(expires, now); err != nil {
					return err
				}
			}
			return recordWaiver(a, args, w, now)
		},
	}
	by.flags(c)
	c.Flags().StringVar(&expires, "expires", "", "when the waiver ends (required)")
	c.Flags().BoolVar(&revoke, "revoke", false, "withdraw the waiver of the gate")
	a.jsonFlag(c, "print the waiver as JSON")
	return c
}

func recordWaiver(a *app, args []string, w *ledger.Waiver, now time.Time) error {
	st, done, err := writer(a, args[1:])
	if err != nil {
		return err
	}
	defer done()
	node, err := overruling.Gate(st, args[0])
	if err != nil {
		return err
	}
	d, err := overruling.Standing(st, node)
	if err != nil {
		return fmt.Errorf("there is nothing to waive: %w", err)
	}
	old := st.Waiver(node)
	holds := old.Covers(d.Decision, now)
	switch {
	case d.Verdict.Unlocks():
		return fmt.Errorf("nothing to waive: %s %s, and the phases after it are unlocked", node, verdict.Did(d.Verdict))
	case !ledger.Overridable(d.Verdict):
		return fmt.Errorf("%s %s, so there is no decision to waive. Fix the cause (%s) and run apply again", node, verdict.Did(d.Verdict), report.Brief(d.Decision))
	case w.Revoked && !holds:
		return fmt.Errorf("no waiver of %s is in force%s: nothing to revoke", node, verdict.Behind(": ", old.Effect(d.Decision, now).String()))
	}
	w.Node, w.Attempt, w.Verdict = d.Node, d.Attempt, d.Verdict
	if err := st.Append(&ledger.Record{Type: "waiver", Time: now, Run: d.Run, Waiver: w}); err != nil {
		return a.fail(verdict.ExitBroken, err)
	}
	if a.json {
		a.printJSON(w)
		return nil
	}
	fmt.Fprintf(a.stdout, "%s %s (attempt %d): %s.\n", node, verdict.Did(d.Verdict), d.Attempt, w.Effect(d.Decision, now).String())
	switch {
	case w.Revoked:
		fmt.Fprintln(a.stdout, "The next apply locks the phases after it.")
		return nil
	case holds:
		fmt.Fprintf(a.stdout, "This replaces the waiver of %s until %s.\n", old.By, ledger.Minute(old.Expires))
	}
	fmt.Fprintln(a.stdout, "The next apply unlocks the phases after it. The waiver covers this decision only: decided again\n(new evidence, changed rules or --rerun), the gate is not waived.")
	return nil
}
