package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// noiseOptions are the command line of mxflow noise.
type noiseOptions struct {
	*app
	given    load.Options
	launches int
}

func newNoiseCommand(a *app) *cobra.Command {
	o := &noiseOptions{app: a}
	c := &cobra.Command{
		Use:   "noise [PLAN]",
		Short: "Measure a plan's baseline against itself: what is resolvable",
		Long: `Measures three arms that do not differ, in fresh launches in turn: the plan's
baseline, and two copies of it with empty caches. Shows how much each metric
varies between requests, launches and arms, and the smallest effect that 2, 4
and 8 launches per arm resolve. Each call measures anew, or resumes.

The launches are on record beside the plan's: plan says what launches resolve by
them, and apply may decide after 2 what is clear. What status, report and explain
show stays the same. With --json, the last line is the result.

Exit status: 0 measured, 1 refused before anything started, 3 too few launches
counted, 4 the engine failed or could not be started, or mxflow failed,
130 interrupted.`,
		Example: `  mxflow noise plan.hcl
  mxflow noise --launches 6 --suite quick plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
	}
	varFlag(c.Flags(), &o.given.Inputs)
	suiteFlag(c.Flags(), &o.given.Suite)
	c.Flags().IntVar(&o.launches, "launches", 4, "launches of each arm, 2 to 12")
	a.jsonFlag(c.Flags())
	return c
}

func (o *noiseOptions) run(ctx context.Context, args []string) error {
	o.fold()
	if o.launches < 2 || o.launches > 12 {
		return fmt.Errorf("--launches: %d is not between 2 and 12", o.launches)
	}
	path, err := o.planOf(args)
	if err != nil {
		return err
	}
	loaded, _, err := o.load(path, o.given)
	if err != nil {
		return err
	}
	st, err := o.recordIfAny(path)
	if err != nil {
		return err
	}
	var copies []string
	o.given.Question, copies, err = arms.Noise(loaded.Plan, o.launches, func(feature string) (measured int) {
		if st == nil {
			return 0
		}
		for _, d := range st.History(runtime.BenchmarkID(feature)) {
			if d.Verdict == verdict.Pass { // else it goes on
				measured++
			}
		}
		return measured
	})
	if st != nil {
		st.Close()
	}
	if err != nil {
		return err
	}
	beginStream(o.app)
	res, err := applyPlan(ctx, o.app, applying{
		path: path, dir: o.stateDir(path), given: o.given, aside: true, watch: newProgress(o.app, false),
		tell: o.errorsOnly,
	})
	switch {
	case res == nil || err != nil:
		return err
	case res.Exit == verdict.ExitInterrupted:
		fmt.Fprintln(o.stderr, "interrupted: the same command resumes")
		return nil
	}
	return o.result(res, path, loaded.Plan, copies)
}

// result prints how much the copies of the baseline varied, and ends their caches.
func (o *noiseOptions) result(res *apply.Result, path string, p *plans.Plan, copies []string) error {
	switch o.exit = verdict.ExitInconclusive; res.End.Verdict {
	case verdict.Pass:
		o.exit = verdict.ExitPass
	case verdict.Fail, verdict.Error:
		o.exit = verdict.ExitBroken
	}
	st, err := store.OpenReadOnly(o.stateDir(path))
	if err != nil {
		return err
	}
	defer st.Close()
	n := &view.Noise{Type: "noise_result", Run: res.Run, Verdict: res.End.Verdict, Exit: o.exit}
	if d, run, ok := st.Latest(runtime.BenchmarkID(copies[1])); ok && run == res.Run {
		n.Session = d.Session
		session := st.Launches(store.LaunchFilter{Session: d.Session, Purpose: ledger.ForBenchmark})
		n.AA = decide.AAOf(p, st.Records(), session)
		for _, l := range session {
			own, err := filepath.Glob(filepath.Join(st.Dir(), "caches", l.VariantKey+"*"))
			for _, dir := range own { // which no later launch finds
				if err == nil && n.Verdict == verdict.Pass && slices.Contains(copies, l.Variant) {
					_ = os.RemoveAll(dir) // what a container wrote as another user stays
				}
			}
		}
	}
	if o.json {
		o.printLine(n)
	} else {
		n.Print(o.screen())
	}
	return nil
}
