package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

func newProveCommand(h Host) *cobra.Command {
	var key string
	var verify bool
	c := &cobra.Command{
		Use:   "prove RECORD [PLAN|FILE]",
		Short: "Prove, without the ledger, that a record is in it",
		Long: `Prints one record with its inclusion proof and the signed checkpoint, as JSON: anyone with
the public key can verify that it is in the ledger, without seeing other records. RECORD
is a number (from 0, as audit verify counts), a launch, a run, or a node or feature,
for its newest decision.

--verify checks such a proof from a file. Exit status 2 if it proves nothing.`,
		Example: "  mxflow audit prove cutlass plan.hcl > proof.json\n  mxflow audit prove --verify --key kim.pub proof.json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if verify {
				return checkProof(h, args[0], key)
			}
			return h.whole(h.Evidence, args[1:], key, func(st *store.Store, _ ledger.Report, _ string) error {
				record, err := h.recordOf(st, args[0])
				if err != nil {
					return err
				}
				proof, err := ledger.Prove(st.LedgerPath(), record)
				if err != nil {
					return err
				}
				h.PrintJSON(proof)
				return nil
			})
		},
	}
	c.Flags().StringVar(&key, "key", "", "public key of the signer, or its `file` (default: your own)")
	c.Flags().BoolVar(&verify, "verify", false, "check the proof in the named file")
	h.jsonFlag(c, "print the record as JSON (--verify)")
	return c
}

// recordOf is the number of the record that a person names.
func (h Host) recordOf(st *store.Store, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, nil
	}
	for i, r := range st.Records() {
		if r.Launch != nil && r.Launch.ID == name || r.RunStart != nil && r.Run == name {
			return i, nil
		}
	}
	node, err := h.Node(st, name)
	if err != nil {
		return 0, err
	}
	for _, d := range st.Decisions() {
		if d.Node == node {
			return d.Record, nil
		}
	}
	return 0, fmt.Errorf("%s was not decided, so there is no record to prove", node)
}

// mostProof exceeds the size of any proof: a line of the ledger as JSON in JSON.
const mostProof = 64 << 20

func checkProof(h Host, file, given string) error {
	text, err := h.Read(file, mostProof)
	if err != nil {
		return err
	}
	var proof ledger.Proof
	if err := json.Unmarshal(text, &proof); err != nil || len(text) > mostProof {
		return h.Fail(fmt.Errorf("%s is not a proof of mxflow audit prove (%v)", file, err))
	}
	key, err := PublicKey(given, file)
	if err != nil {
		return err
	}
	signed, err := signing.Verify([]byte(proof.Checkpoint), key)
	if err != nil {
		return h.Fail(fmt.Errorf("%s: its checkpoint has %w. Pass the signer's key (--key)", file, err))
	}
	r, err := proof.Check(signed)
	if err != nil {
		return h.Fail(fmt.Errorf("%s: %w", file, err))
	}
	if *h.JSON {
		h.PrintJSON(map[string]any{"number": proof.Leaf - 1, "record": r, "signed_by": keyName(key), "ok": true})
		return nil
	}
	what := r.Type + " of run " + r.Run
	switch {
	case r.Decision != nil:
		what = fmt.Sprintf("%s, attempt %d: %s", r.Decision.Node, r.Decision.Attempt, r.Decision.Verdict)
	case r.Launch != nil:
		what = "launch " + r.Launch.ID
	}
	fmt.Fprintf(h.Stdout, "Record %d is in the ledger that %s signed: %s.\n", proof.Leaf-1, keyName(key), what)
	return nil
}

func newConsistencyCommand(h Host) *cobra.Command {
	c := &cobra.Command{
		Use:   "consistency OLD [NEW]",
		Short: "Prove that the ledger has only grown since an older state",
		Long: `Looks up two states of the ledger of this folder (or --state), each the file of a
kept checkpoint or a tree hash; NEW defaults to the current ledger.
Nothing but records may have come between them. --json has the consistency proof of
RFC 6962, which shows the same to anyone with both roots but no ledger.

The signature of OLD is not checked, because you kept it yourself.
Exit status 2 if the ledger never had one of the states.`,
		Example: "  mxflow audit consistency kept.checkpoint\n  mxflow audit consistency --json OLDHASH NEWHASH",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := h.Reader(nil)
			if err != nil {
				return err
			}
			defer st.Close()
			old, err := stateNamed(st, args[0])
			if err != nil {
				return h.Fail(err)
			}
			var now *ledger.State
			if len(args) > 1 {
				to, err := stateNamed(st, args[1])
				if err != nil {
					return h.Fail(err)
				}
				now = &to
			}
			proof, err := ledger.Consistent(st.LedgerPath(), old, now)
			if err != nil {
				return h.Fail(err)
			}
			if *h.JSON {
				h.PrintJSON(proof)
				return nil
			}
			fmt.Fprintf(h.Stdout, "The ledger of %s, tree hash %s, is a prefix of that of %s, tree hash %s.\n",
				tell.Count(int(proof.Old.Size-1), "record"), proof.Old.Root, tell.Count(int(proof.New.Size-1), "record"), proof.New.Root)
			return nil
		},
	}
	h.jsonFlag(c, "print both states and the proof as JSON")
	return c
}

// stateNamed is the state in a checkpoint file, or the one at which a ledger had a tree
// hash.
func stateNamed(st *store.Store, name string) (ledger.State, error) {
	if text, err := os.ReadFile(name); err == nil {
		at, err := ledger.ParseState(string(text))
		if err != nil {
			return at, fmt.Errorf("%s: the checkpoint %w", name, err)
		}
		return at, nil
	}
	return ledger.StateAt(st.LedgerPath(), name)
}
