package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/arms"
	"github.com/mxflow/mxflow/steps/decide"
)

const (
	leastNoise = 2
	mostNoise  = 12
)

func newNoiseCommand(a *app) *cobra.Command {
	var vars []load.Given
	var suite string
	var launches int
	var reuse, wait bool
	c := &cobra.Command{
		Use:   "noise [PLAN]",
		Short: "Measure a plan's baseline against itself: what is resolvable",
		Long: `Measures three arms that do not differ, in fresh launches in turn: the plan's
baseline, and two copies of it with empty caches, which choose their own tune.
Shows how much each metric varies between requests, between launches and between
arms, and the smallest effect that 2, 4 and 8 launches per arm resolve.

The launches are recorded beside the plan's: the next apply may then decide after
2 launches what is clear by them, and plan says what its launches resolve. What
status, report and explain show stays the same. Each call measures anew; one that
was interrupted resumes. --json streams events, one object per line; the last is
the result.

Exit status: 0 measured, 1 usage, plan or environment error, 3 too few launches
counted, 4 the engine or mxflow failed, 130 interrupted.`,
		Example: `  mxflow noise plan.hcl
  mxflow noise --launches 6 --suite quick plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			if launches < leastNoise || launches > mostNoise {
				return fmt.Errorf("--launches: %d is not between %d and %d", launches, leastNoise, mostNoise)
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
			earlier := func(feature string) (n int) { // what was not measured to its end goes on
				if st == nil {
					return 0
				}
				defer st.Close()
				for _, d := range st.History(runtime.BenchmarkID(feature)) {
					if d.Verdict == verdict.Pass {
						n++
					}
				}
				return n
			}
			var copies []string
			if opts.Question, copies, err = arms.Noise(loaded.Plan, launches, earlier); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			beginStream(a)
			res, err := applyPlan(c.Context(), a, applying{
				path: path, state: a.stateDir(path), load: opts, reuse: reuse, wait: wait, aside: true, watch: newProgress(a),
				report: func(res *lang.Findings) { // warnings were printed before
					if !res.OK() {
						a.reportStreamed(res)
					}
				},
			})
			if res == nil || err != nil || res.Exit == verdict.ExitInterrupted {
				return err // the same command resumes
			}
			switch res.End.Verdict {
			case verdict.Pass:
			case verdict.Fail, verdict.Error:
				a.exit = verdict.ExitBroken
			default:
				a.exit = verdict.ExitInconclusive
			}
			if st, err = store.OpenReadOnly(a.stateDir(path)); err != nil {
				return err
			}
			defer st.Close()
			n := noiseOf(st, loaded.Plan, copies)
			n.Plan, n.Run, n.Verdict, n.Exit = path, res.Run, res.End.Verdict, a.exit
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
	reuseFlag(c, &reuse)
	c.Flags().BoolVar(&wait, "wait", false, "wait while another apply uses the state directory")
	a.jsonFlag(c)
	return c
}

// noiseOf is what the newest measurement of a plan's noise shows. The caches of its copies
// are removed, as no other launch finds them.
func noiseOf(st *store.Store, p *plans.Plan, copies []string) *view.Noise {
	n := &view.Noise{Type: "noise", Engine: p.Baseline.Engine}
	for _, feature := range copies {
		for _, node := range []string{runtime.BaselineID, runtime.QualifyID(feature), runtime.BenchmarkID(feature)} {
			d, _, ok := st.Latest(node)
			if !ok {
				continue
			}
			if d.Verdict != verdict.Pass && len(n.Reasons) == 0 {
				n.Reasons, n.LogTail = d.Why(), d.LogTail
			}
			if d.Session != "" && node == runtime.BenchmarkID(feature) {
				n.Session = d.Session
			}
		}
	}
	var counted []*ledger.Launch
	baseline := ""
	for _, l := range st.Launches(store.LaunchFilter{Session: n.Session, Purpose: ledger.ForBenchmark}) {
		if n.Session == "" || !decide.Usable(l) {
			continue
		}
		counted = append(counted, l)
		if l.Variant == ledger.Baseline {
			baseline = l.VariantKey
		} else if own, err := filepath.Glob(filepath.Join(st.Dir(), "caches", l.VariantKey+"*")); err == nil {
			for _, dir := range own {
				_ = os.RemoveAll(dir) // what a container wrote as another user stays
			}
		}
	}
	if n.Count(counted); baseline != "" {
		before := decide.NoiseBefore(st.Records(), "", counted[0].Work, baseline)
		n.Metrics = decide.Spreads(p.Decision, counted, before, baseline)
		n.CountBoots(before)
	}
	return n
}
