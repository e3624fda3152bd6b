package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/script"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/replay"
)

// envFlags are the flags of mxflow env.
type envFlags struct {
	vars    []load.Given
	engine  string
	shows   bool
	envOnly bool
}

func newEnvCommand(a *app) *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:   "env FEATURE|accepted|baseline [PLAN]",
		Short: "Print what reproduces a variant: environment, flags, command line",
		Long: `Prints a variant of the plan as a shell script: the variables that are set and
unset, and the command line that starts the engine. accepted is the stack of all
accepted features in the state directory; while it is empty, that is the baseline.
Variables, and the environment that the plan reads, are those that the newest run
recorded; with --var or --var-file, all are as given now. Nothing is started, and no
lock is needed.

Sensitive values are left out: the script then exits with a message that names what
to set, rather than starting an engine with a wrong key. --show-secrets writes them
out.

In the script MXFLOW_PORT is the port that the engine listens on. A service of a compose
file is named; the script sets its variables.`,
		Example: "  mxflow env accepted plan.hcl > serve.sh && sh serve.sh\n  mxflow env kv_cache --engine vllm.production plan.hcl\n  eval \"$(mxflow env --env-only accepted plan.hcl)\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := recipeOf(a, args, f)
			if err != nil {
				return err
			}
			// The final redaction would corrupt a script without secrets: sensitive values in
			// it are variables, or requested.
			text, err := r.Write(a.secrets, f.envOnly)
			if err == nil {
				_, err = fmt.Fprint(bare(a.stdout), text)
			}
			return err
		},
	}
	varFlag(c, &f.vars)
	c.Flags().StringVar(&f.engine, "engine", "", "another engine of the plan, as kind.name (default: the baseline's)")
	c.Flags().BoolVar(&f.shows, "show-secrets", false, "write sensitive values as well")
	c.Flags().BoolVar(&f.envOnly, "env-only", false, "leave out the command: for sourcing")
	return c
}

// recipeOf resolves the variant that the arguments name.
func recipeOf(a *app, args []string, f envFlags) (*script.Recipe, error) {
	path, err := a.planOf(args[1:])
	if err != nil {
		return nil, err
	}
	st, err := a.recordIfAny(path)
	if err != nil {
		return nil, err
	}
	if st != nil {
		defer st.Close()
	}
	loaded, g, err := a.load(path, asRun(st, f.vars))
	if err != nil {
		return nil, err
	}
	p := loaded.Plan
	if p.Baseline == nil {
		return nil, fmt.Errorf("plan %s has no baseline, so it has no variants: it compares nothing", p.Name)
	}
	if st != nil {
		if err := apply.SamePlan(st, p); err != nil {
			return nil, err
		}
	}
	lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st})
	if err != nil {
		return nil, err
	}
	r := &script.Recipe{Plan: p.Name, Variant: strings.TrimPrefix(args[0], "feature."), Engine: p.Baseline.Engine, Shows: f.shows}
	if err := script.Resolve(r, p, st); err != nil {
		return nil, err
	}
	if st != nil {
		r.Notes = append(r.Notes, notesOfRun(st, loaded, len(f.vars) > 0)...)
	}
	if f.engine != "" {
		r.Engine = f.engine
	}
	r.Spec, r.Kind, err = lab.VariantSpec(r.Engine, r.Knobs)
	if err != nil {
		return nil, fmt.Errorf("%s of plan %s: %w", r.Variant, p.Name, err)
	}
	return r, nil
}

// notesOfRun say which run a recipe follows, and what that run does not record.
func notesOfRun(st *store.Store, loaded *load.Result, given bool) []string {
	runs := st.Runs()
	if len(runs) == 0 {
		return nil
	}
	run := runs[len(runs)-1].ID
	if given {
		return []string{"The variables are as given now, not as in run " + run + "."}
	}
	notes := []string{"The variables are those of run " + run + "."}
	if others := replay.New(st, steps.Registry(), nil).ChangedInputs(run, loaded); len(others) > 0 {
		notes = append(notes, verdict.Sentence(replay.Needs(run, others)))
	}
	return notes
}
