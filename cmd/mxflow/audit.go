package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func newAuditCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit [PLAN]",
		Short: "Show every decision of gates and features with its values",
		Long: `Shows every attempt at every gate and feature, the old ones too: the rules, the
values on both sides, the verdict, and why it was decided then. Waivers are
listed where they happened: who, why and until when.`,
		Example: `  mxflow audit plan.hcl
  mxflow audit verify plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			st, err := a.evidence(args)
			if err != nil {
				return err
			}
			defer st.Close()
			all := audit.DecisionsOf(st)
			a.show(all, func() { all.Print(a.stdout) })
			return nil
		},
	}
	a.jsonFlag(c.Flags())
	c.AddCommand(newVerifyCommand(a), newExportCommand(a), newKeyCommand(a), newReplayCommand(a))
	return c
}

// evidence is reader, also for an export of a state directory: any file that is not a
// plan, so a damaged export is reported as damaged.
func (a *app) evidence(args []string) (*store.Store, error) {
	if len(args) == 0 || lang.IsSource(args[0]) && !store.IsArchive(args[0]) {
		return a.reader(args)
	}
	if at, err := os.Stat(args[0]); err != nil || at.IsDir() {
		return a.reader(args)
	}
	st, err := store.OpenArchive(args[0])
	if err != nil {
		return nil, a.fail(verdict.ExitFail, err)
	}
	return st, nil
}

// whole opens a record and calls do if it verifies, with the key that signed it.
func (a *app) whole(open func([]string) (*store.Store, error), args []string, key string,
	do func(st *store.Store, checked ledger.Report, signer string) error,
) error {
	a.fold()
	st, err := open(args)
	if err != nil {
		if _, ok := errors.AsType[*ledger.DamageError](err); ok {
			return a.fail(verdict.ExitFail, err)
		}
		return err
	}
	defer st.Close()
	checked, signer, err := audit.Verified(st, key)
	if err != nil {
		return a.fail(verdict.ExitFail, err)
	}
	return do(st, checked, signer)
}

// verifyOptions are the command line of mxflow audit verify.
type verifyOptions struct {
	*app
	key, root string
	size      int
}

func newVerifyCommand(a *app) *cobra.Command {
	o := &verifyOptions{app: a}
	c := &cobra.Command{
		Use:   "verify [PLAN|FILE]",
		Short: "Recompute the whole ledger and check every byte of it",
		Long: `Recomputes the Merkle tree over the ledger, and checks every record, that a known
key signed all of it, and that every artifact exists and is unchanged. FILE is the
output of audit export. Exit status 2: something is wrong, or not signed.

With --root the ledger must once have had this tree hash, which you kept elsewhere:
that detects what even the holder of the key rewrote. With --size it must have
that many records: that detects an older copy.`,
		Example: `  mxflow audit verify plan.hcl
  mxflow audit verify --key kim.pub plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.whole(o.evidence, args, o.key, o.verify) },
	}
	keyFlag(c.Flags(), &o.key)
	c.Flags().StringVar(&o.root, "root", "", "tree `HASH` that the ledger must have had")
	c.Flags().IntVar(&o.size, "size", 0, "minimum number of `RECORDS` in the ledger")
	a.jsonFlag(c.Flags())
	return c
}

func (o *verifyOptions) verify(st *store.Store, checked ledger.Report, signer string) error {
	if o.root != "" {
		if err := ledger.HadRoot(st.LedgerPath(), o.root); err != nil {
			return o.fail(verdict.ExitFail, fmt.Errorf("%s: %w", st.LedgerName(), err))
		}
	}
	if checked.Records < o.size {
		return o.fail(verdict.ExitFail,
			fmt.Errorf("%s: %s, want %d (--size): records were cut off, or this is an older copy", st.LedgerName(),
				verdict.Count(checked.Records, "record"), o.size))
	}
	artifacts, bad := audit.Artifacts(st)
	o.show(map[string]any{
		"ledger": checked, "signed_by": audit.KeyName(signer), "artifacts": artifacts, "bad_artifacts": bad,
		"ok": len(bad) == 0,
	}, func() {
		for _, b := range bad {
			fmt.Fprintln(o.stdout, b)
		}
		fmt.Fprintf(o.stdout, "%s: %s, tree hash %s, %s, signed by %s\n", st.LedgerName(),
			verdict.Count(checked.Records, "record"), checked.Root, verdict.Count(artifacts, "artifact"),
			audit.KeyName(signer))
		if len(bad) > 0 {
			return
		}
		intact := "Everything is intact."
		for _, n := range checked.Notices {
			fmt.Fprintln(o.stdout, "note:", n)
			intact = "What is recorded is intact."
		}
		if st.IsLock() {
			intact += " It is a lock: samples, logs and answers are not in it."
		}
		fmt.Fprintln(o.stdout, intact)
	})
	if len(bad) == 0 {
		return nil
	}
	return o.fail(verdict.ExitFail,
		fmt.Errorf("%s missing or changed: restore them from a copy", verdict.Count(len(bad), "artifact")))
}

func newExportCommand(a *app) *cobra.Command {
	var key, out string
	var lock bool
	c := &cobra.Command{
		Use:   "export [PLAN]",
		Short: "Write the record as one file that anyone can verify and replay",
		Long: `Writes the ledger, its signed checkpoint, the public key and every artifact that a
record names (plans, samples, logs) as one tar file. What does not verify is not
written. Logs and plans are in it as they were kept: look before you publish.

With --lock it has the ledger, the plans and the lists of files that ran: enough
for mxflow reproduce and audit verify, not for audit replay.`,
		Example: `  mxflow audit export -o port.tar plan.hcl
  mxflow audit verify --key kim.pub port.tar
  mxflow audit replay port.tar`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.whole(a.reader, args, key, func(st *store.Store, checked ledger.Report, signer string) error {
				if out == "" {
					runs := st.Runs()
					out = runs[len(runs)-1].Plan + map[bool]string{false: ".tar", true: ".lock"}[lock]
				}
				size, err := audit.ExportTo(out, st, signer, lock)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.stdout, "Wrote %s: %s, tree hash %s, %.1f MB, signed by %s.\n", out,
					verdict.Count(checked.Records, "record"), checked.Root, float64(size)/1e6, audit.KeyName(signer))
				return nil
			})
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "write to this `FILE` (default: beside the plan)")
	c.Flags().BoolVar(&lock, "lock", false, "leave out samples, logs and answers")
	keyFlag(c.Flags(), &key)
	return c
}

func newKeyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key that others verify with",
		Long: `Prints your public key, for audit verify --key and apply --sealed --key. The key
is made on first use, as mxflow/signing.key in your configuration folder;
MXFLOW_SIGNING_KEY replaces it.`,
		Example: "  mxflow audit key > kim.pub",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := audit.OwnKey()
			if err != nil {
				return err
			}
			fmt.Fprintln(a.stdout, key.Public)
			return nil
		},
	}
}
