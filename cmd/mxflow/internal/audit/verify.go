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
		Long: `Recomputes the Merkle tree over the ledger, and checks every record, that a known
key signed all of it, and that every artifact exists and is unchanged. FILE is the
output of audit export. Exit status 2: something is wrong, or not signed.

With --root the ledger must once have had this tree hash, which you kept elsewhere:
that detects what even the holder of the key rewrote. With --size it must have
that many records: that detects an older copy.`,
		Example: `  mxflow audit verify plan.hcl
  mxflow audit verify --key kim.pub plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return h.whole(h.Evidence, args, key, func(st *store.Store, checked ledger.Report, signer string) error {
				if root != "" {
					if err := ledger.HadRoot(st.LedgerPath(), root); err != nil {
						return h.Fail(fmt.Errorf("%s: %w", st.LedgerName(), err))
					}
				}
				if checked.Records < size {
					return h.Fail(fmt.Errorf("%s: %s, want %d (--size): records were cut off, or this is an older copy",
						st.LedgerName(), verdict.Count(checked.Records, "record"), size))
				}
				artifacts, missing := verifyArtifacts(st)
				if *h.JSON {
					h.PrintJSON(map[string]any{
						"ledger": checked, "signed_by": keyName(signer), "artifacts": artifacts,
						"bad_artifacts": missing, "ok": len(missing) == 0,
					})
				} else {
					for _, m := range missing {
						fmt.Fprintln(h.Out(), m)
					}
					fmt.Fprintf(h.Out(), "%s: %s, tree hash %s, %s, signed by %s\n", st.LedgerName(),
						verdict.Count(checked.Records, "record"), checked.Root, verdict.Count(artifacts, "artifact"),
						keyName(signer))
				}
				if len(missing) > 0 {
					return h.Fail(fmt.Errorf("%s missing or changed: restore them from a copy",
						verdict.Count(len(missing), "artifact")))
				}
				if *h.JSON {
					return nil
				}
				intact := "Everything is intact."
				for _, n := range checked.Notices {
					fmt.Fprintln(h.Out(), "note:", n)
					intact = "What is recorded is intact."
				}
				fmt.Fprintln(h.Out(), intact)
				return nil
			})
		},
	}
	h.KeyFlag(c, &key)
	c.Flags().StringVar(&root, "root", "", "tree `HASH` that the ledger must have had")
	c.Flags().IntVar(&size, "size", 0, "minimum number of `RECORDS` in the ledger")
	h.JSONFlag(c)
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
