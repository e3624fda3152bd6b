package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) auditCommand() *cobra.Command {
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
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			a.auditList(st)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.AddCommand(a.auditVerifyCommand(), a.auditReplayCommand())
	return c
}

func (a *app) auditVerifyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify [PLAN]",
		Short: "Recompute the whole ledger and check every byte of it",
		Long: `Recomputes the Merkle tree over the ledger, checks every record's form, that none
was removed since the last checkpoint, and that every artifact a record names is
there and unchanged. Exit status 2 when anything is wrong.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args)
			if err != nil {
				var damage *ledger.DamageError
				if errors.As(err, &damage) {
					return a.fail(verdict.ExitFail, err)
				}
				return err
			}
			defer st.Close()
			report, err := ledger.Verify(st.LedgerPath())
			if err != nil {
				return a.fail(verdict.ExitFail, err)
			}
			artifacts, missing := a.verifyArtifacts(st)
			if a.json {
				a.printJSON(map[string]any{"ledger": report, "artifacts": artifacts, "bad_artifacts": missing, "ok": len(missing) == 0})
			} else {
				for _, m := range missing {
					fmt.Fprintln(a.stdout, m)
				}
				fmt.Fprintf(a.stdout, "%s: %s, tree hash %s, %s\n", filepath.Clean(st.LedgerPath()), count(report.Records, "record"), report.Root, count(artifacts, "artifact"))
			}
			if len(missing) > 0 {
				return a.fail(verdict.ExitFail, fmt.Errorf("%s missing or changed", count(len(missing), "artifact")))
			}
			switch {
			case a.json:
			case len(report.Notices) > 0:
				for _, n := range report.Notices {
					fmt.Fprintln(a.stdout, "note:", n)
				}
				fmt.Fprintln(a.stdout, "What is there is intact.")
			default:
				fmt.Fprintln(a.stdout, "Everything is intact.")
			}
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

// verifyArtifacts reads every artifact that a record names.
func (a *app) verifyArtifacts(st *store.Store) (n int, bad []string) {
	seen := map[string]bool{}
	check := func(sum, what string) {
		if sum == "" || seen[sum] {
			return
		}
		seen[sum] = true
		n++
		if _, err := st.Get(sum); err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", what, err))
		}
	}
	for i, r := range st.Records() {
		switch {
		case r.RunStart != nil:
			check(r.RunStart.PlanSource, fmt.Sprintf("record %d, plan of run %s", i, r.Run))
			for _, name := range slices.Sorted(maps.Keys(r.RunStart.PlanSources)) {
				check(r.RunStart.PlanSources[name], fmt.Sprintf("record %d, file %s of the plan of run %s", i, name, r.Run))
			}
		case r.Launch != nil:
			check(r.Launch.Samples, fmt.Sprintf("record %d, samples of launch %s", i, r.Launch.ID))
			check(r.Launch.Series, fmt.Sprintf("record %d, series of launch %s", i, r.Launch.ID))
			check(r.Launch.Output, fmt.Sprintf("record %d, output of launch %s", i, r.Launch.ID))
			check(r.Launch.Prompts, fmt.Sprintf("record %d, prompts of launch %s", i, r.Launch.ID))
			check(r.Launch.Log, fmt.Sprintf("record %d, log of launch %s", i, r.Launch.ID))
			check(r.Launch.Metadata, fmt.Sprintf("record %d, metadata of launch %s", i, r.Launch.ID))
			for _, name := range slices.Sorted(maps.Keys(r.Launch.Trees)) {
				check(r.Launch.Trees[name].Diff, fmt.Sprintf("record %d, changes to source tree %s of launch %s", i, name, r.Launch.ID))
			}
		}
	}
	return n, bad
}
