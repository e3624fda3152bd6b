package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/audit"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime/signing"
)

func newSealCommand(a *app) *cobra.Command {
	var vars []load.Given
	var limits seal.Limits
	var by, out, suite string
	c := &cobra.Command{
		Use:   "seal [PLAN]",
		Short: "Sign the rules of a plan, with limits for those who propose ports",
		Long: `Signs what a plan judges by: rules, workloads, protocols, targets, engines, steps,
and the files that their commands name. apply --sealed then refuses any change and
names it. These stay open: the values of each --knob except its default, the
sources of each --source, and --features new features that take the criteria,
protocol and parent of a sealed feature of their phase.

The key is made on first use; mxflow audit key prints its public half.
MXFLOW_SIGNING_KEY replaces it.`,
		Example: `  mxflow seal --knob gemm --features 5 --launches 200 --hours 8 plan.hcl
  mxflow apply --sealed plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			by, err := author(by)
			if err != nil {
				return err
			}
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			loaded, _, err := a.load(path, load.Options{Inputs: vars, Suite: suite})
			if err != nil {
				return err
			}
			s, err := seal.Of(loaded.Plan, limits)
			if err != nil {
				return err
			}
			s.By, s.Time = by, time.Now().UTC()
			text, err := s.Text()
			if err != nil {
				return err
			}
			file, err := signing.Path()
			if err != nil {
				return err
			}
			key, err := signing.Open(file)
			if err != nil {
				return err
			}
			signed, err := key.Sign(text)
			if err != nil {
				return err
			}
			out = cmp.Or(out, sealOf(path))
			if err := files.Replace(out, signed); err != nil {
				return err
			}
			tries := allTries(s)
			a.show(map[string]any{
				"seal": out, "digest": s.Digest, "key": key.Public, "judged": len(s.Judged), "limits": s.Limits,
				"false_pass": s.FalsePass, "chance": s.Chance(tries),
			}, func() {
				fmt.Fprintf(a.stdout, "Sealed %s: %s, signed by %s+%08x in %s.\n", path,
					verdict.Count(len(s.Judged), "setting"), key.Name(), key.KeyHash(), out)
				if n := limits.Features; n > 0 {
					fmt.Fprintf(a.stdout,
						"Up to %s at a false pass rate of %.3g%% each (all tries at one: %.3g%%), so one that gains "+
							"nothing passes with a chance of at most %.3g%%.\n",
						verdict.Count(n, "proposed feature"), 100*s.FalsePass, 100*tries, 100*s.Chance(tries))
				}
			})
			return nil
		},
	}
	varFlag(c.Flags(), &vars)
	suiteFlag(c.Flags(), &suite)
	byFlag(c.Flags(), &by)
	c.Flags().StringVar(&out, "out", "", "write to this `FILE` (default: beside the plan)")
	c.Flags().StringArrayVar(&limits.Knobs, "knob", nil, "knob, or `KNOB.VALUE`, that can be changed (repeatable)")
	c.Flags().StringArrayVar(&limits.Sources, "source", nil, "`ENGINE` whose source can be changed (repeatable)")
	c.Flags().IntVar(&limits.Features, "features", 0, "how many features can be proposed")
	c.Flags().IntVar(&limits.Launches, "launches", 0, "launches that all applies can make (0: no limit)")
	c.Flags().Float64Var(&limits.Hours, "hours", 0, "hours that their launches can take (0: no limit)")
	a.jsonFlag(c.Flags())
	return c
}

// allTries is the chance that a feature without a gain passes in any of its tries.
func allTries(s *seal.Seal) float64 {
	bound, _ := stats.Bound(s.FalsePass)
	return bound
}

// sealOf is the seal's file of a plan.
func sealOf(plan string) string { return filepath.Join(lang.FolderOf(plan), "plan.seal") }

// errSealFirst is the end of an error about a plan without a seal.
var errSealFirst = errors.New("a person seals the plan first")

// readSeal is the seal beside a plan, signed by the holder of a public key: as text, in a
// file, or by default this user's.
func readSeal(plan, key string) (*seal.Seal, error) {
	file := sealOf(plan)
	signed, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no seal: %w; %w", err, errSealFirst)
	}
	key, err = audit.PublicKey(key, file)
	if err != nil {
		return nil, err
	}
	text, err := signing.Verify(signed, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nothing was started", file, err)
	}
	s, err := seal.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}
