package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/signing"
	"github.com/mxflow/mxflow/runtime/store"
)

func newProveCommand(a *app) *cobra.Command {
	var key string
	var verify bool
	c := &cobra.Command{
		Use:   "prove RECORD [PLAN|FILE]",
		Short: "Prove that a record is in the ledger, without the ledger",
		Long: `Prints one record with its inclusion proof and the signed checkpoint, as JSON: whoever
has the public key can tell that the record is in the ledger, and sees no other. RECORD
is a number as audit verify counts (from 0), a launch, a run, or a node or feature,
whose newest decision it is.

--verify checks such a proof from a file. Exit status 2 where it proves nothing.`,
		Example: "  mxflow audit prove cutlass plan.hcl > proof.json\n  mxflow audit prove --verify --key kim.pub proof.json",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if verify {
				return checkProof(a, args[0], key)
			}
			st, err := a.evidence(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			if _, _, err := verified(st, key); err != nil {
				return a.fail(verdict.ExitFail, err)
			}
			record, err := recordOf(st, args[0])
			if err != nil {
				return err
			}
			proof, err := ledger.Prove(st.LedgerPath(), record)
			if err != nil {
				return err
			}
			a.printJSON(proof)
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "public key of who signed, or its `file` (default: your own)")
	c.Flags().BoolVar(&verify, "verify", false, "check the proof in the file that is named")
	a.jsonFlag(c, "print the record as JSON (--verify)")
	return c
}

// recordOf is the number of the record that a person names.
func recordOf(st *store.Store, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, nil
	}
	for i, r := range st.Records() {
		if r.Launch != nil && r.Launch.ID == name || r.RunStart != nil && r.Run == name {
			return i, nil
		}
	}
	node, err := findNode(st, name)
	if err != nil {
		return 0, err
	}
	for _, d := range st.Decisions() {
		if d.Node == node {
			return d.Record, nil
		}
	}
	return 0, fmt.Errorf("%s was not decided: there is no record to prove", node)
}

// mostProof is more than a proof takes: a line of the ledger as JSON in JSON.
const mostProof = 64 << 20

func checkProof(a *app, file, given string) error {
	text, err := readResult(file, mostProof)
	if err != nil {
		return err
	}
	var proof ledger.Proof
	if err := json.Unmarshal(text, &proof); err != nil || len(text) > mostProof {
		return a.fail(verdict.ExitFail, fmt.Errorf("%s is no proof of mxflow audit prove (%v)", file, err))
	}
	key, err := publicKey(given, file)
	if err != nil {
		return err
	}
	signed, err := signing.Verify([]byte(proof.Checkpoint), key)
	if err != nil {
		return a.fail(verdict.ExitFail, fmt.Errorf("%s: its checkpoint has %w. Pass the key of who signed (--key)", file, err))
	}
	r, err := proof.Check(signed)
	if err != nil {
		return a.fail(verdict.ExitFail, fmt.Errorf("%s: %w", file, err))
	}
	if a.json {
		a.printJSON(map[string]any{"number": proof.Leaf - 1, "record": r, "signed_by": keyName(key), "ok": true})
		return nil
	}
	what := r.Type + " of run " + r.Run
	switch {
	case r.Decision != nil:
		what = fmt.Sprintf("%s, attempt %d: %s", r.Decision.Node, r.Decision.Attempt, r.Decision.Verdict)
	case r.Launch != nil:
		what = "launch " + r.Launch.ID
	}
	fmt.Fprintf(a.stdout, "Record %d is in the ledger that %s signed: %s.\n", proof.Leaf-1, keyName(key), what)
	return nil
}

func newConsistencyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "consistency OLD [NEW]",
		Short: "Prove that the ledger of then is the beginning of that of now",
		Long: `Looks up two states of the ledger of this folder (or --state), each the file of a
checkpoint that was kept or a tree hash; NEW is the ledger as it is where none is named.
Nothing but records may have come between them. --json has the consistency proof of
RFC 6962, which shows the same to who has both roots and no ledger.

The signature of a kept checkpoint is not asked: it is yours, and older than a doubt.
Exit status 2 where the ledger never had one of the states.`,
		Example: "  mxflow audit consistency kept.checkpoint\n  mxflow audit consistency --json OLDHASH NEWHASH",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(nil)
			if err != nil {
				return err
			}
			defer st.Close()
			old, err := stateNamed(st, args[0])
			if err != nil {
				return a.fail(verdict.ExitFail, err)
			}
			var now *ledger.State
			if len(args) > 1 {
				to, err := stateNamed(st, args[1])
				if err != nil {
					return a.fail(verdict.ExitFail, err)
				}
				now = &to
			}
			proof, err := ledger.Consistent(st.LedgerPath(), old, now)
			if err != nil {
				return a.fail(verdict.ExitFail, err)
			}
			if a.json {
				a.printJSON(proof)
				return nil
			}
			fmt.Fprintf(a.stdout, "The ledger of %s, tree hash %s, is the beginning of that of %s, tree hash %s.\n",
				count(int(proof.Old.Size-1), "record"), proof.Old.Root, count(int(proof.New.Size-1), "record"), proof.New.Root)
			return nil
		},
	}
	a.jsonFlag(c, "print both states and the proof as JSON")
	return c
}

// stateNamed is what the file of a checkpoint says, or where a ledger had a tree hash.
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
