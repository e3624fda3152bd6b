package audit

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func newVerifyCommand(h Host) *cobra.Command {
	var key, root string
	var size int
	c := &cobra.Command{
		Use:   "verify [PLAN|FILE]",
		Short: "Recompute the whole ledger and check every byte of it",
		Long: `Recomputes the Merkle tree over the ledger, checks every record's form, that a known
key signed all of it, and that every artifact of a record exists and is unchanged.
With --root, the ledger must once have had this tree hash, which you kept elsewhere:
that detects what even the holder of the key rewrote. With --size, it must have that many
records: that detects an older copy in its place. FILE is the output of audit export. Exit
status 2 when anything is wrong, or not signed.`,
		Example: "  mxflow audit verify plan.hcl\n  mxflow audit verify --key kim.pub plan.hcl\n  mxflow audit verify --root HASH plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return h.whole(h.Evidence, args, key, func(st *store.Store, checked ledger.Report, signer string) error {
				if root != "" {
					if err := ledger.HadRoot(st.LedgerPath(), root); err != nil {
						return h.Fail(fmt.Errorf("%s: %w", st.LedgerName(), err))
					}
				}
				if checked.Records < size {
					return h.Fail(fmt.Errorf("%s: %s, want %d (--size): records were cut off, or this is an older copy", st.LedgerName(), verdict.Count(checked.Records, "record"), size))
				}
				artifacts, missing := verifyArtifacts(st)
				if *h.JSON {
					h.PrintJSON(map[string]any{"ledger": checked, "signed_by": keyName(signer), "artifacts": artifacts, "bad_artifacts": missing, "ok": len(missing) == 0})
				} else {
					for _, m := range missing {
						fmt.Fprintln(h.Stdout, m)
					}
					fmt.Fprintf(h.Stdout, "%s: %s, tree hash %s, %s, signed by %s\n", st.LedgerName(), verdict.Count(checked.Records, "record"), checked.Root, verdict.Count(artifacts, "artifact"), keyName(signer))
				}
				if len(missing) > 0 {
					return h.Fail(fmt.Errorf("%s missing or changed", verdict.Count(len(missing), "artifact")))
				}
				if *h.JSON {
					return nil
				}
				intact := "Everything is intact."
				for _, n := range checked.Notices {
					fmt.Fprintln(h.Stdout, "note:", n)
					intact = "What is recorded is intact."
				}
				fmt.Fprintln(h.Stdout, intact)
				return nil
			})
		},
	}
	c.Flags().StringVar(&key, "key", "", "public key of the signer, or its `file` (default: your own)")
	c.Flags().StringVar(&root, "root", "", "tree `hash` that the ledger must have had")
	c.Flags().IntVar(&size, "size", 0, "minimum number of `records` in the ledger")
	h.jsonFlag(c, "print as JSON")
	return c
}

// verifyArtifacts reads every artifact that a record names.
func verifyArtifacts(st *store.Store) (n int, bad []string) {
	for _, named := range st.Named() {
		n++
		if _, err := st.Get(named.Sum); err != nil {
			bad = append(bad, fmt.Sprintf("record %d, %s: %v", named.Record, named.What, err))
		}
	}
	return n, bad
}
