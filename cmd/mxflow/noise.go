package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

func newNoiseCommand(a *app) *cobra.Command {
	var vars []load.Given
	var suite string
	var launches int
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
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			if launches < 2 || launches > 12 {
				return fmt.Errorf("--launches: %d is not between 2 and 12", launches)
			}
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			opts := load.Options{Inputs: vars, Suite: suite}
			loaded, _, err := a.load(path, opts)
			if err != nil {
				return err
			}
			st, err := a.recordIfAny(path)
			if err != nil {
				return err
			}
			var copies []string
			opts.Question, copies, err = arms.Noise(loaded.Plan, launches, func(feature string) (measured int) {
				if st == nil {
					return 0
				}
				defer st.Close()
				for _, d := range st.History(runtime.BenchmarkID(feature)) {
					if d.Verdict == verdict.Pass { // else it goes on
						measured++
					}
				}
				return measured
			})
			if err != nil {
				return err
			}
			beginStream(a)
			res, err := applyPlan(c.Context(), a, applying{
				path: path, state: a.stateDir(path), load: opts, aside: true, watch: newProgress(a, false),
				report: a.errorsOnly,
			})
			if res != nil && err == nil && res.Exit == verdict.ExitInterrupted {
				fmt.Fprintln(a.stderr, "interrupted: the same command goes on from here")
			}
			if res == nil || err != nil || res.Exit == verdict.ExitInterrupted {
				return err
			}
			switch a.exit = verdict.ExitInconclusive; res.End.Verdict {
			case verdict.Pass:
				a.exit = verdict.ExitPass
			case verdict.Fail, verdict.Error:
				a.exit = verdict.ExitBroken
			}
			if st, err = store.OpenReadOnly(a.stateDir(path)); err != nil {
				return err
			}
			defer st.Close()
			n := &view.Noise{Type: "noise_result", Run: res.Run, Verdict: res.End.Verdict, Exit: a.exit}
			if d, run, ok := st.Latest(runtime.BenchmarkID(copies[1])); ok && run == res.Run {
				n.Session = d.Session
				session := st.Launches(store.LaunchFilter{Session: d.Session, Purpose: ledger.ForBenchmark})
				n.AA = decide.AAOf(loaded.Plan, st.Records(), session)
				for _, l := range session {
					own, err := filepath.Glob(filepath.Join(st.Dir(), "caches", l.VariantKey+"*"))
					for _, dir := range own { // which no later launch finds
						if err == nil && n.Verdict == verdict.Pass && slices.Contains(copies, l.Variant) {
							_ = os.RemoveAll(dir) // what a container wrote as another user stays
						}
					}
				}
			}
			if a.json {
				a.printLine(n)
			} else {
				n.Print(a.screen())
			}
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().IntVar(&launches, "launches", 4, "launches of each arm, 2 to 12")
	a.jsonFlag(c)
	return c
}
