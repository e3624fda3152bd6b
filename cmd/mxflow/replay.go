package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/recorded"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/replayview"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/replay"
)

// replayFlags are those of audit replay.
type replayFlags struct {
	changed, node, suite string
	vars                 []load.Given
}

func newReplayCommand(a *app) *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use:   "replay [PLAN|FILE]",
		Short: "Decide every recorded level, feature and gate again from raw data and compare",
		Long: `Decides every recorded decision about levels, features and gates again, including
superseded ones: levels from the answers, logs and outputs that their launches kept,
metrics from the raw samples, rules from the plan that the run recorded,
launch-to-launch variance from the launches before the session. What cannot be decided
again (steps, whether a benchmark's launches count, levels in which the engine died) is
listed.
Every verdict of a rule or a comparison must come out the same, and every number bit
for bit (within 1e-9 if it was recorded on another architecture). Nothing is started
and nothing is written. FILE is an output of audit export.

Exit status: 0 everything agrees; 2 something came out differently, which is listed;
3 nothing could be decided again, or not every current decision, as its plan no longer
compiles; 4 the ledger is damaged, or raw data are missing or damaged; 1 wrong usage.

--plan CHANGED derives what an apply of another plan would decide by the launches on
record, with numbers derived again from raw data, and what it would measure first. Launches
count as they do in an apply here: of what the changed plan starts and sends, on this
machine. A rule that was relaxed after they were seen decides on them here, with its mark.
Exit status then, as of apply: 0 every gate passes, 2 one fails or is invalid, 3 one is
inconclusive or waits for launches, 4 raw data are missing, 1 the changed plan has mistakes.

The recorded plan is compiled with the variables, the suite and the environment that
the run recorded, whatever is given now. Sensitive values are never recorded: with the
same --var, --var-file or MXFLOW_VAR_name as then, the whole plan is checked; without
them, each rule is compiled from the text recorded with its decision. The changed plan
uses the variables and the suite given now.`,
		Example: "  mxflow audit replay plan.hcl\n" +
			"  mxflow audit replay plan.hcl --node cutlass\n" +
			"  mxflow audit replay plan.hcl --plan stricter.hcl",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if flags.changed == "" && flags.suite != "" {
				return errors.New("--suite is for the changed plan of --plan: the recorded plan keeps its suite")
			}
			if flags.changed != "" && flags.node != "" {
				return errors.New("--plan and --node cannot be combined: a changed plan is decided as a whole, because gates read their features")
			}
			st, err := evidence(a, stateBeside(a, args, flags.changed))
			if err != nil {
				var damage *ledger.DamageError
				if errors.As(err, &damage) || errors.Is(err, errLedgerGone) {
					return a.fail(verdict.ExitBroken, err)
				}
				return err
			}
			defer st.Close()
			if flags.changed != "" {
				return replayWith(a, st, flags)
			}
			node := ""
			if flags.node != "" {
				if node, err = recorded.Node(st, flags.node); err != nil {
					return err
				}
			}
			out := replayview.Replayed(newReplay(st, flags), node)
			if a.json {
				a.printJSON(out)
			} else {
				out.Print(a.screen(), a.width())
			}
			exit, err := out.Verdict()
			return a.fail(exit, err)
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().StringVar(&flags.changed, "plan", "", "decide with the rules of this plan instead of the recorded one")
	c.Flags().StringVar(&flags.node, "node", "", "only decisions about this node")
	varFlag(c, &flags.vars)
	suiteFlag(c, &flags.suite)
	return c
}

// stateBeside is where the state directory is looked for: beside the plan that is
// named, else in the current folder, else beside the changed plan.
func stateBeside(a *app, args []string, changed string) []string {
	if len(args) > 0 || changed == "" || a.state != "" {
		return args
	}
	if _, err := os.Stat(store.DirName); err == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(lang.FolderOf(changed), store.DirName)); err == nil {
		return []string{changed}
	}
	return nil
}

// newReplay also decides levels again.
func newReplay(st *store.Store, flags replayFlags) *replay.Replay {
	r := replay.New(st, steps.Registry(), flags.vars)
	r.Judge = steps.NewJudge(st)
	return r
}

// replayWith decides the recorded evidence by another plan.
func replayWith(a *app, st *store.Store, flags replayFlags) error {
	loaded, g, err := a.load(flags.changed, load.Options{Inputs: flags.vars, Suite: flags.suite})
	if err != nil {
		return err
	}
	p := loaded.Plan
	if runs := st.Runs(); len(runs) == 0 {
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("nothing was applied here, so there is no evidence to decide from"))
	} else if was := runs[len(runs)-1].Plan; was != p.Name {
		return fmt.Errorf("%s is plan %q, but plan %q was recorded in %s: give the changed plan the same name, or name the other plan's folder", flags.changed, p.Name, was, st.Dir())
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st, OnSeenData: true, Reuse: true})
	if err != nil {
		return err
	}
	raw := newReplay(st, flags).Raw()
	lab.Numbers = raw.Launch
	states, err := (&runtime.Runner{Plan: p, Graph: g, Journal: st.Journal(), Step: lab.Step}).Reconcile()
	if err != nil {
		return err
	}
	if raw.Err != nil {
		return a.fail(verdict.ExitBroken, raw.Err)
	}
	c := replayview.With(st, p, states, raw.Differences())
	if a.json {
		a.printJSON(c)
	} else {
		c.Print(a.screen())
	}
	a.exit = c.Verdict.ExitCode()
	return nil
}
