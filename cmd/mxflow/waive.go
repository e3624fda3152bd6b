package main

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/override"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// waiveOptions is what a person says against a gate's verdict: why, who and until when. Without
// who and why nobody could tell later whether it was right.
type waiveOptions struct {
	reason, by, expires string
	revoke              bool
}

func newWaiveCommand(a *app) *cobra.Command {
	var o waiveOptions
	c := &cobra.Command{
		Use:   "waive GATE [PLAN]",
		Short: "Let the phases after a gate proceed although it did not pass",
		Long: `Overrides the verdict of a gate: who, why and until when. GATE is a phase whose
verdict is fail, inconclusive or invalid. The verdict stays, with the waiver beside
it; the next apply unlocks the phases after the gate.

A waiver covers one decision: when the gate is decided again, or the waiver expires,
the phases after it are locked again. --revoke withdraws it.

--expires is a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC)
or an instant (2026-12-24T18:00:00+01:00), at most a year from now.`,
		Example: `  mxflow waive cutlass --reason 'fixed in 0.12' --expires 14d plan.hcl
  mxflow waive cutlass --revoke --reason 'it was not fixed' plan.hcl`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			if err := o.check(); err != nil {
				return err
			}
			return o.record(a, args)
		},
	}
	c.Flags().StringVar(&o.reason, "reason", "", "`WHY`, for later readers (required)")
	c.Flags().StringVar(&o.expires, "expires", "", "`TIME` at which the waiver ends (required)")
	c.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the waiver of the gate")
	byFlag(c, &o.by)
	a.jsonFlag(c)
	return c
}

func (o *waiveOptions) check() (err error) {
	if o.reason, err = override.OneLine("reason", o.reason, 2000, "why"); err != nil {
		return err
	}
	if o.revoke && o.expires != "" {
		return errors.New("--expires sets when a new waiver ends, --revoke ends the old one now: use one of them")
	}
	o.by, err = author(o.by)
	return err
}

// author is who signs a waiver or a seal: as given, or else git's user.name.
func author(given string) (string, error) {
	if given == "" {
		name, _ := exec.Command("git", "config", "user.name").Output() // fails where there is none
		given = string(name)
	}
	return override.OneLine("by", given, 200, "your name, or set it once with git config --global user.name NAME")
}

// record records the waiver in the state directory of its arguments. It is refused while an
// apply is at work there: what is waived might change under the hands of both.
func (o *waiveOptions) record(a *app, args []string) error {
	if len(args) > 1 && store.IsArchive(args[1]) {
		return fmt.Errorf("%s is an export, which records nothing: name the plan", args[1])
	}
	seen, err := a.reader(args[1:])
	if err != nil {
		return err
	}
	dir := seen.Dir()
	seen.Close()
	lock, err := store.Lock(dir)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return fmt.Errorf("nothing was changed: %w; try again when it has ended, or stop it", err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	st, err := store.OpenSigned(dir, audit.Signer(a.stderr))
	if err != nil {
		return err
	}
	defer st.Close()
	for _, n := range st.Notices() {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	now := time.Now().UTC()
	w, d, old, err := o.waiver(st, args[0], now)
	if err != nil {
		return err
	}
	if err := st.Append(&ledger.Record{Type: "waiver", Time: now, Run: d.Run, Waiver: w}); err != nil {
		return a.fail(verdict.ExitBroken, err)
	}
	a.show(w, func() {
		fmt.Fprintf(a.stdout, "%s %s (attempt %d): %s.\n", d.Node, verdict.Did(d.Verdict), d.Attempt,
			w.Effect(d.Decision, now).String())
		if w.Revoked {
			fmt.Fprintln(a.stdout, "The next apply locks the phases after it.")
			return
		}
		if old.Covers(d.Decision, now) {
			fmt.Fprintf(a.stdout, "This replaces the waiver of %s until %s.\n", old.By, ledger.Minute(old.Expires))
		}
		fmt.Fprintln(a.stdout,
			"The next apply unlocks the phases after it. The waiver ends when the gate is decided again.")
	})
	return nil
}

// waiver covers one decision about a gate, or revokes the old one, if there is one.
func (o *waiveOptions) waiver(st *store.Store, gate string, now time.Time) (w *ledger.Waiver, d ledger.Decided,
	old *ledger.Waiver, err error,
) {
	w = &ledger.Waiver{Reason: o.reason, By: o.by, Expires: now, Revoked: o.revoke}
	if !o.revoke {
		if w.Expires, err = override.Expiry(o.expires, now); err != nil {
			return nil, d, nil, err
		}
	}
	node, err := override.Gate(st, gate)
	if err != nil {
		return nil, d, nil, err
	}
	if d, err = override.Standing(st, node); err != nil {
		return nil, d, nil, fmt.Errorf("there is nothing to waive: %w", err)
	}
	old = st.Waiver(node)
	switch {
	case d.Verdict.Unlocks():
		err = fmt.Errorf("nothing to waive: %s %s, and the phases after it are unlocked", node, verdict.Did(d.Verdict))
	case !ledger.Overridable(d.Verdict):
		err = fmt.Errorf("%s %s, so there is no decision to waive. Fix the cause (%s) and run apply again",
			node, verdict.Did(d.Verdict), report.Brief(d.Decision))
	case w.Revoked && !old.Covers(d.Decision, now):
		err = fmt.Errorf("no waiver of %s is in force%s: nothing to revoke", node,
			verdict.Behind(": ", old.Effect(d.Decision, now).String()))
	}
	w.Node, w.Attempt, w.Verdict = d.Node, d.Attempt, d.Verdict
	return w, d, old, err
}
