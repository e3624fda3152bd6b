package main

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/override"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// overrideOptions is what a person says against a recorded outcome: why, who and, of a waiver,
// until when. Without who and why nobody could tell later whether it was right.
type overrideOptions struct {
	reason, by, expires string
	revoke              bool
}

func newWaiveCommand(a *app) *cobra.Command {
	var o overrideOptions
	c := o.command(a, "waive GATE [PLAN]", o.waive)
	c.Short = "Let the phases after a gate proceed although it did not pass"
	c.Long = `Overrides the verdict of a gate: who, why and until when. GATE is a phase whose
verdict is fail, inconclusive or invalid. The verdict stays, with the waiver beside
it; the next apply unlocks the phases after the gate.

A waiver covers one decision: when the gate is decided again, or the waiver expires,
the phases after it are locked again. --revoke withdraws it.

--expires is a time from now (36h, 14d, 2w), a day (2026-12-24, to its end in UTC)
or an instant (2026-12-24T18:00:00+01:00), at most a year from now.`
	c.Example = `  mxflow waive cutlass --reason 'fixed in 0.12' --expires 14d plan.hcl
  mxflow waive cutlass --revoke --reason 'it was not fixed' plan.hcl`
	c.Flags().StringVar(&o.expires, "expires", "", "`TIME` at which the waiver ends (required)")
	c.Flags().BoolVar(&o.revoke, "revoke", false, "withdraw the waiver of the gate")
	return c
}

func newRetractCommand(a *app) *cobra.Command {
	var o overrideOptions
	c := o.command(a, "retract NODE [PLAN]", o.retract)
	c.Short = "Withdraw an outcome that turned out wrong"
	c.Long = `Overrides an outcome that was wrong: who says so, and why. NODE is an address as
status shows it, or the name of a feature or a phase. It becomes invalid, and with
it every gate and feature that depends on it; later phases are locked. Earlier
decisions stay in the record.

apply decides the node again only with --rerun, or when what it measures changes.
What was withdrawn with it is then decided again from recorded launches, unless
NODE is itself a measurement (feature.NAME.benchmark, feature.NAME.qualify,
baseline).`
	c.Example = `  mxflow retract kv_cache --reason 'the prompts were cached' plan.hcl
  mxflow apply --rerun kv_cache plan.hcl`
	return c
}

// direction is what an override of a node records, or why it may not.
type direction func(a *app, st *store.Store, args []string, now time.Time) (*overrideRecord, error)

// overrideRecord is what an override appends to the ledger, and how it is shown afterwards.
type overrideRecord struct {
	records []*ledger.Record
	json    any
	print   func()
}

// command records an override of either direction in the state directory of its arguments.
// It is refused while an apply is at work there: what is overridden might change under the
// hands of both.
func (o *overrideOptions) command(a *app, use string, of direction) *cobra.Command {
	c := &cobra.Command{
		Use: use, Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			if err := o.check(); err != nil {
				return err
			}
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
			r, err := of(a, st, args, time.Now().UTC())
			if err != nil {
				return err
			}
			if err := st.Append(r.records...); err != nil {
				return a.fail(verdict.ExitBroken, err)
			}
			a.show(r.json, r.print)
			return nil
		},
	}
	c.Flags().StringVar(&o.reason, "reason", "", "`WHY`, for later readers (required)")
	byFlag(c, &o.by)
	a.jsonFlag(c)
	return c
}

func (o *overrideOptions) check() (err error) {
	if o.reason, err = override.OneLine("reason", o.reason, 2000, "why"); err != nil {
		return err
	}
	if o.revoke && o.expires != "" {
		return errors.New("--expires sets when a new waiver ends, --revoke ends the old one now: use one of them")
	}
	o.by, err = author(o.by)
	return err
}

// author is who signs an override or a seal: as given, or else git's user.name.
func author(given string) (string, error) {
	if given == "" {
		name, _ := exec.Command("git", "config", "user.name").Output() // fails where there is none
		given = string(name)
	}
	return override.OneLine("by", given, 200, "your name, or set it once with git config --global user.name NAME")
}

// waive covers one decision about a gate, or revokes that.
func (o *overrideOptions) waive(a *app, st *store.Store, args []string, now time.Time) (*overrideRecord, error) {
	w := &ledger.Waiver{Reason: o.reason, By: o.by, Expires: now, Revoked: o.revoke}
	if !o.revoke {
		var err error
		if w.Expires, err = override.Expiry(o.expires, now); err != nil {
			return nil, err
		}
	}
	node, err := override.Gate(st, args[0])
	if err != nil {
		return nil, err
	}
	d, err := override.Standing(st, node)
	if err != nil {
		return nil, fmt.Errorf("there is nothing to waive: %w", err)
	}
	old := st.Waiver(node)
	holds := old.Covers(d.Decision, now)
	switch {
	case d.Verdict.Unlocks():
		return nil, fmt.Errorf("nothing to waive: %s %s, and the phases after it are unlocked", node, verdict.Did(d.Verdict))
	case !ledger.Overridable(d.Verdict):
		return nil, fmt.Errorf("%s %s, so there is no decision to waive. Fix the cause (%s) and run apply again",
			node, verdict.Did(d.Verdict), report.Brief(d.Decision))
	case w.Revoked && !holds:
		return nil, fmt.Errorf("no waiver of %s is in force%s: nothing to revoke", node, verdict.Behind(": ", old.Effect(d.Decision, now).String()))
	}
	w.Node, w.Attempt, w.Verdict = d.Node, d.Attempt, d.Verdict
	return &overrideRecord{[]*ledger.Record{{Type: "waiver", Time: now, Run: d.Run, Waiver: w}}, w, func() {
		fmt.Fprintf(a.stdout, "%s %s (attempt %d): %s.\n", node, verdict.Did(d.Verdict), d.Attempt, w.Effect(d.Decision, now).String())
		if w.Revoked {
			fmt.Fprintln(a.stdout, "The next apply locks the phases after it.")
			return
		}
		if holds {
			fmt.Fprintf(a.stdout, "This replaces the waiver of %s until %s.\n", old.By, ledger.Minute(old.Expires))
		}
		fmt.Fprintln(a.stdout, "The next apply unlocks the phases after it. The waiver ends when the gate is decided again.")
	}}, nil
}

// retract makes an outcome invalid, and those that depend on it.
func (o *overrideOptions) retract(a *app, st *store.Store, args []string, now time.Time) (*overrideRecord, error) {
	node, alternative, err := view.Argued(st, args[0])
	if err != nil {
		return nil, err
	}
	if alternative != "" {
		return nil, fmt.Errorf("%s is one of the values that %s chose from and has no outcome of its own. To withdraw the choice: %s",
			alternative, node, a.suggest("retract", view.Short(node)))
	}
	d, err := override.Standing(st, node)
	if err != nil {
		return nil, fmt.Errorf("there is nothing to retract: %w", err)
	}
	switch {
	case d.Retracted():
		return nil, fmt.Errorf("%s is already invalid: %s. To decide it again: %s",
			node, d.Retraction.Of(node).String(), a.suggest("apply", "--rerun", override.RerunName(d.Decision)))
	case d.Withdrawn():
		return nil, fmt.Errorf("%s is already invalid: %s. It is decided again once %s is: if it is wrong on its own, retract it then",
			node, d.Retraction.Of(node).String(), d.Retraction.Node)
	case !d.Verdict.Decided():
		return nil, fmt.Errorf("%s %s (attempt %d): it unlocks nothing to withdraw", node, verdict.Did(d.Verdict), d.Attempt)
	}
	var g *runtime.Graph
	p, unknown := a.planOfRun(st, args[1:])
	if unknown == nil {
		g, unknown = runtime.NewGraph(p)
	}
	resting, locked, rough := override.Resting(st, d, g, unknown)
	if a.secrets.Active() {
		st.CleanWith(func(r *ledger.Record) { a.secrets.Clean(r, apply.Identities...) })
	}
	if rough != "" {
		fmt.Fprintf(a.stderr, "note: %s: everything decided after it is withdrawn; the next apply decides again what does not depend on it\n", rough)
	}
	var records []*ledger.Record
	for _, was := range append([]store.Decided{d}, resting...) {
		withdrawn := was.Withdraw(ledger.Retraction{Node: node, Reason: o.reason, By: o.by})
		records = append(records, &ledger.Record{Type: "decision", Time: now, Run: was.Run, Decision: withdrawn})
	}
	return &overrideRecord{records, override.JSON(records, locked), func() { override.Print(a.screen(), d, records, locked) }}, nil
}
