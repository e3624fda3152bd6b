package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func newAuditCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "audit [PLAN]",
		Short: "Show every decision of gates and features with its values",
		Long: `Shows every attempt at every gate and feature, and at a feature's criteria on each
engine that confirms it, the old ones too: the rule, the values on both sides with
unit and n, the verdict, and why it was decided then.
Waivers and retractions stand where they happened: who, why and, of a waiver, until
when.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.evidence(args)
			if err != nil {
				return err
			}
			defer st.Close()
			printAudit(a, st)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.AddCommand(newVerifyCommand(a), newReplayCommand(a), newExportRecordCommand(a), newProveCommand(a), newConsistencyCommand(a), newSignCommand(a), newRotateCommand(a), newKeyCommand(a), newAttestCommand(a), newPublishCommand(a))
	return c
}

func newVerifyCommand(a *app) *cobra.Command {
	var key, root string
	var size int
	var inGit bool
	c := &cobra.Command{
		Use:   "verify [PLAN|FILE]",
		Short: "Recompute the whole ledger and check every byte of it",
		Long: `Recomputes the Merkle tree over the ledger, checks every record's form, that a known
key signed all of it, and that every artifact a record names is there and unchanged.
With --root, a tree hash that was kept elsewhere must be one that this ledger had:
that finds what even the holder of the key rewrote. With --size, it must have that many
records: that finds an older copy put in its place. FILE is what audit export wrote. Exit
status 2 when anything is wrong, or not signed.`,
		Example: "  mxflow audit verify plan.hcl\n  mxflow audit verify --key kim.pub plan.hcl\n  mxflow audit verify --root HASH plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.evidence(args)
			if err != nil {
				if _, ok := errors.AsType[*ledger.DamageError](err); ok {
					return a.fail(verdict.ExitFail, err)
				}
				return err
			}
			defer st.Close()
			checked, by, err := verified(st, key)
			if err != nil {
				return a.fail(verdict.ExitFail, err)
			}
			if root != "" {
				at, err := stateNamed(st, root)
				if err == nil {
					_, err = ledger.Consistent(st.LedgerPath(), at, nil)
				}
				if err != nil {
					return a.fail(verdict.ExitFail, fmt.Errorf("%s: %w", st.LedgerName(), err))
				}
			}
			if checked.Records < size {
				return a.fail(verdict.ExitFail, fmt.Errorf("%s: %s, want %d (--size): records were cut off, or this is an older copy", st.LedgerName(), count(checked.Records, "record"), size))
			}
			witnessed := 0
			if inGit {
				if witnessed, err = heldAgainstGit(c.Context(), st, args); err != nil {
					return a.fail(verdict.ExitFail, err)
				}
			}
			artifacts, removed, missing := verifyArtifacts(st)
			if a.json {
				a.printJSON(map[string]any{"ledger": checked, "signed_by": by, "artifacts": artifacts, "removed_artifacts": removed, "witnessed": witnessed, "bad_artifacts": missing, "ok": len(missing) == 0})
			} else {
				for _, m := range missing {
					fmt.Fprintln(a.stdout, m)
				}
				fmt.Fprintf(a.stdout, "%s: %s, tree hash %s, %s, signed by %s\n", st.LedgerName(), count(checked.Records, "record"), checked.Root, count(artifacts, "artifact"), by)
			}
			if len(missing) > 0 {
				return a.fail(verdict.ExitFail, fmt.Errorf("%s missing or changed", count(len(missing), "artifact")))
			}
			if a.json {
				return nil
			}
			intact := "Everything is intact."
			if inGit {
				fmt.Fprintf(a.stdout, "It holds all that %s in git saw.\n", count(witnessed, "checkpoint"))
			}
			if removed > 0 {
				fmt.Fprintf(a.stdout, "note: %s removed to make room, on record: nobody can check any more what rests on that\n", count(removed, "artifact"))
				intact = "What is recorded is intact."
			}
			for _, k := range checked.Keys {
				fmt.Fprintf(a.stdout, "note: record %d %s\n", k.Record, keyChanged(k))
			}
			for _, n := range checked.Notices {
				fmt.Fprintln(a.stdout, "note:", n)
				intact = "What is recorded is intact."
			}
			fmt.Fprintln(a.stdout, intact)
			return nil
		},
	}
	c.Flags().StringVar(&key, "key", "", "public key of who signed, or its `file` (default: your own)")
	c.Flags().StringVar(&root, "root", "", "tree `hash` that the ledger must have had, or the file of a checkpoint that was kept")
	c.Flags().BoolVar(&inGit, "git", false, "hold it against the checkpoints in notes and tags of the plan's repository")
	c.Flags().IntVar(&size, "size", 0, "`records` that the ledger must have, or more")
	a.jsonFlag(c, "print as JSON")
	return c
}

// verifyArtifacts reads every artifact that a record names.
func verifyArtifacts(st *store.Store) (n, removed int, bad []string) {
	onRecord := st.Removed()
	for _, named := range st.Named() {
		n++
		_, err := st.Get(named.Sum)
		if _, ok := onRecord[named.Sum]; ok && errors.Is(err, fs.ErrNotExist) {
			removed++
		} else if err != nil {
			bad = append(bad, fmt.Sprintf("record %d, %s: %v", named.Record, named.What, err))
		}
	}
	return n, removed, bad
}

// evidence is reader, also of an export of a state directory.
func (a *app) evidence(args []string) (*store.Store, error) {
	if len(args) == 0 || !store.IsArchive(args[0]) {
		return a.reader(args)
	}
	st, err := store.OpenArchive(args[0])
	if err != nil {
		return nil, a.fail(verdict.ExitFail, err)
	}
	return st, nil
}

// verified is a ledger that is whole and signed, and who signed it.
func verified(st *store.Store, key string) (rep ledger.Report, by string, err error) {
	if rep, err = ledger.Verify(st.LedgerPath()); err != nil {
		return rep, "", err
	}
	rep.Path = st.LedgerName()
	if by, err = signedBy(rep, key); err != nil && st.ArchivedKey() != "" {
		err = fmt.Errorf("%w. The file says, which proves nothing, that the key is %s", err, st.ArchivedKey())
	}
	return rep, by, err
}

// audited is a decision and, of one that a feature is confirmed by, the engine that
// it was made on.
type audited struct {
	store.Decided
	Engine string `json:"engine,omitempty"`
}

// printAudit prints what was decided and what people decided over it, in the order
// of the ledger.
func printAudit(a *app, st *store.Store) {
	all, waivers := []audited{}, st.Waivers()
	for i, r := range st.Records() {
		if r.Decision != nil {
			d := audited{Decided: store.Decided{Decision: r.Decision, Record: i, Run: r.Run, Time: r.Time}}
			d.Engine = onEngine(st, d.Decided)
			all = append(all, d)
		}
	}
	if a.json {
		a.printJSON(map[string]any{"decisions": all, "waivers": waivers, "refusals": st.Refusals()})
		return
	}
	for _, d := range all {
		for len(waivers) > 0 && waivers[0].Record < d.Record {
			printWaiver(a, waivers[0])
			waivers = waivers[1:]
		}
		if runtime.DecidesAlone(runtime.Kind(d.Kind)) || d.Retraction != nil {
			printDecision(a, d)
		}
	}
	for _, w := range waivers {
		printWaiver(a, w)
	}
	printRefusals(a, st.Refusals())
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "Nothing was decided here.")
	}
}

// onEngine is the engine of a decision that a feature is confirmed by, "kind.name";
// empty for others. One that was never measured was qualified there, or tried to be.
func onEngine(st *store.Store, d store.Decided) string {
	if d.Kind != string(runtime.KindCriteria) {
		return ""
	}
	engines := explain.EnginesOf(st, d.Decision)
	for _, q := range st.History(runtime.QualifyID(runtime.CandidateOf(d.Node))) {
		if len(engines) == 0 && q.Record < d.Record {
			engines = explain.EnginesOf(st, q.Decision)
		}
	}
	return strings.Join(engines, ", ")
}

// printWaiver prints what was said when a waiver was given, whatever became of it.
func printWaiver(a *app, w store.Waived) {
	word, says := "waived", fmt.Sprintf("by %s until %s: %s", w.By, ledger.Minute(w.Expires), w.Reason)
	if w.Revoked {
		word, says = "waiver revoked", fmt.Sprintf("by %s: %s", w.By, w.Reason)
	}
	fmt.Fprintf(a.stdout, "%s  %s  attempt %d, which was %s, of run %s, %s\n  %s\n\n", w.Node, word, w.Attempt, w.Verdict, w.Run, atSecond(w.Time), says)
}

// atSecond writes when something was decided as people look for it on this machine.
func atSecond(t time.Time) string { return t.Local().Format(time.DateTime) }

// printDecision prints a decision by itself: what those before it said may stand thousands of
// lines above.
func printDecision(a *app, d audited) {
	on, page := "", &tell.Page{}
	if d.Engine != "" {
		on = " on " + d.Engine
	}
	fmt.Fprintf(a.stdout, "%s  %s%s  attempt %d (%s), run %s, %s\n", d.Node, d.Verdict, on, d.Attempt, tell.Line(d.Because), d.Run, atSecond(d.Time))
	if len(d.Rules) > 0 {
		for _, line := range tell.Lines(d.Marks()) {
			fmt.Fprintf(a.stdout, "  %s\n", line)
		}
	}
	for _, c := range d.Confirmations {
		fmt.Fprintf(a.stdout, "  %s\n", page.Each(c.Reason)[0])
	}
	for _, r := range d.Rules {
		decides := ""
		if !r.Decides {
			decides = " (recorded, does not decide)"
		}
		fmt.Fprintf(a.stdout, "  %s %q: %s%s\n    %s   %s\n", r.Role, r.Name, r.Verdict, decides, r.Expr, r.Source)
		for _, in := range r.Inputs {
			line := tell.Input(in)
			if !in.Missing.IsZero() {
				line = page.Each(verdict.New(code.InputMissing).On(in.Path).From(in.Missing))[0]
			}
			fmt.Fprintf(a.stdout, "    %s\n", line)
		}
	}
	reasons := d.Findings
	if len(d.Rules) == 0 {
		reasons = append(slices.Clone(d.Reasons), reasons...)
	}
	for _, reason := range page.Each(reasons...) {
		fmt.Fprintf(a.stdout, "  %s\n", reason)
	}
	fmt.Fprintln(a.stdout)
}
