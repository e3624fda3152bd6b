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
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/runtime/signing"
)

// sealOptions are the command line of mxflow seal.
type sealOptions struct {
	*app
	given   load.Options
	limits  seal.Limits
	by, out string
}

func newSealCommand(a *app) *cobra.Command {
	o := &sealOptions{app: a}
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
		RunE: o.run,
	}
	f := c.Flags()
	varFlag(f, &o.given.Inputs)
	suiteFlag(f, &o.given.Suite)
	byFlag(f, &o.by)
	f.StringVar(&o.out, "out", "", "write to this `FILE` (default: beside the plan)")
	f.StringArrayVar(&o.limits.Knobs, "knob", nil, "knob, or `KNOB.VALUE`, that can be changed (repeatable)")
	f.StringArrayVar(&o.limits.Sources, "source", nil, "`ENGINE` whose source can be changed (repeatable)")
	f.IntVar(&o.limits.Features, "features", 0, "how many features can be proposed")
	f.IntVar(&o.limits.Launches, "launches", 0, "launches that all applies can make (0: no limit)")
	f.Float64Var(&o.limits.Hours, "hours", 0, "hours that their launches can take (0: no limit)")
	a.jsonFlag(f)
	return c
}

func (o *sealOptions) run(_ *cobra.Command, args []string) error {
	o.fold()
	by, err := author(o.by)
	if err != nil {
		return err
	}
	path, err := o.planOf(args)
	if err != nil {
		return err
	}
	loaded, _, err := o.load(path, o.given)
	if err != nil {
		return err
	}
	s, err := seal.Of(loaded.Plan, o.limits)
	if err != nil {
		return err
	}
	s.By, s.Time = by, time.Now().UTC()
	text, err := s.Text()
	if err != nil {
		return err
	}
	key, err := audit.OwnKey()
	if err != nil {
		return err
	}
	signed, err := key.Sign(text)
	if err != nil {
		return err
	}
	o.out = cmp.Or(o.out, sealOf(path))
	if err := files.Replace(o.out, signed); err != nil {
		return err
	}
	tries := s.AllTries()
	o.show(map[string]any{
		"seal": o.out, "digest": s.Digest, "key": key.Public, "judged": len(s.Judged), "limits": s.Limits,
		"false_pass": s.FalsePass, "chance": s.Chance(),
	}, func() {
		fmt.Fprintf(o.stdout, "Sealed %s: %s, signed by %s+%08x in %s.\n", path,
			verdict.Count(len(s.Judged), "setting"), key.Name(), key.KeyHash(), o.out)
		if n := o.limits.Features; n > 0 {
			fmt.Fprintf(o.stdout,
				"Up to %s at a false pass rate of %.3g%% each (all tries at one: %.3g%%), so one that gains "+
					"nothing passes with a chance of at most %.3g%%.\n",
				verdict.Count(n, "proposed feature"), 100*s.FalsePass, 100*tries, 100*s.Chance())
		}
	})
	return nil
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
