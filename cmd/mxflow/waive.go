package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// waiveOptions are a waiver, for which who and why are needed: without them nobody could tell later
// whether it was right.
type waiveOptions struct {
	*app
	report.Override
}

func newWaiveCommand(a *app) *cobra.Command {
	o := &waiveOptions{app: a}
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
		RunE: o.run,
	}
	c.Flags().StringVar(&o.Reason, "reason", "", "`WHY`, for later readers (required)")
	c.Flags().StringVar(&o.Expires, "expires", "", "`TIME` at which the waiver ends (required)")
	c.Flags().BoolVar(&o.Revoke, "revoke", false, "withdraw the waiver of the gate")
	byFlag(c.Flags(), &o.By)
	a.jsonFlag(c.Flags())
	return c
}

func (o *waiveOptions) check() (err error) {
	if o.Reason, err = oneLine("reason", o.Reason, 2000, "why"); err != nil {
		return err
	}
	if o.Revoke && o.Expires != "" {
		return errors.New("--expires sets when a new waiver ends, --revoke ends the old one now: use one of them")
	}
	o.By, err = author(o.By)
	return err
}

// author is who signs a waiver or a seal: as given, or else git's user.name.
func author(given string) (string, error) {
	if given == "" {
		name, _ := exec.Command("git", "config", "user.name").Output() // fails where there is none
		given = string(name)
	}
	return oneLine("by", given, 200, "your name, or set it once with git config --global user.name NAME")
}

// run records the waiver in the state directory of its arguments. It is refused while an
// apply is at work there: what is waived might change under the hands of both.
func (o *waiveOptions) run(_ *cobra.Command, args []string) error {
	o.fold()
	if err := o.check(); err != nil {
		return err
	}
	if len(args) > 1 && store.IsArchive(args[1]) {
		return fmt.Errorf("%s is an export, which records nothing: name the plan", args[1])
	}
	seen, err := o.reader(args[1:])
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
	st, err := store.OpenSigned(dir, audit.Signer(o.stderr))
	if err != nil {
		return err
	}
	defer st.Close()
	for _, n := range st.Notices() {
		fmt.Fprintln(o.stderr, "note:", n)
	}
	return o.record(st, args[0])
}

func (o *waiveOptions) record(st *store.Store, gate string) error {
	node, err := view.Node(st, runtime.PhaseID(gate))
	if err != nil {
		node, err = view.Node(st, gate)
	}
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	w, d, old, err := o.Waiver(st, node, now)
	if err != nil {
		return err
	}
	if err := st.Append(&ledger.Record{Type: "waiver", Time: now, Run: d.Run, Waiver: w}); err != nil {
		return o.fail(verdict.ExitBroken, err)
	}
	o.show(w, func() {
		fmt.Fprintf(o.stdout, "%s %s (attempt %d): %s.\n", d.Node, verdict.Did(d.Verdict), d.Attempt,
			w.Effect(d.Decision, now).String())
		if w.Revoked {
			fmt.Fprintln(o.stdout, "The next apply locks the phases after it.")
			return
		}
		if old.Covers(d.Decision, now) {
			fmt.Fprintf(o.stdout, "This replaces the waiver of %s until %s.\n", old.By, ledger.Minute(old.Expires))
		}
		fmt.Fprintln(o.stdout,
			"The next apply unlocks the phases after it. The waiver ends when the gate is decided again.")
	})
	return nil
}

// oneLine checks that the text of a flag fits on one line of a table.
func oneLine(flag, text string, most int, what string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	switch {
	case text == "":
		return "", fmt.Errorf("--%s is missing or empty: give %s", flag, what)
	case !utf8.ValidString(text) || strings.IndexFunc(text, unicode.IsControl) >= 0:
		return "", fmt.Errorf("--%s contains unprintable characters: use plain text", flag)
	case len(text) > most:
		return "", fmt.Errorf("--%s is %d bytes long, the limit is %d: shorten it", flag, len(text), most)
	}
	return text, nil
}
