package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/script"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
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
		Short: "Print a variant as a shell script that starts it",
		Long: `Prints what reproduces a variant: its environment and the command line that starts
the engine. accepted is the stack of all accepted features. Variables are those
that the newest run recorded; with --var or --var-file, all as given now.

Sensitive values are left out: the script exits and names what to set. In the
script, MXFLOW_PORT is the port that the engine listens on.`,
		Example: `  mxflow env accepted plan.hcl > serve.sh && sh serve.sh
  mxflow env kv_cache --engine vllm.production plan.hcl
  eval "$(mxflow env --env-only accepted plan.hcl)"`,
		Args: cobra.RangeArgs(1, 2),
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
	c.Flags().StringVar(&f.engine, "engine", "", "another engine of the plan, as `KIND.NAME` (default: the baseline's)")
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
		return nil, fmt.Errorf("plan %s has no baseline, so there is no variant to print: add a baseline block", p.Name)
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
	if st != nil && len(st.Runs()) > 0 {
		run := st.Runs()[len(st.Runs())-1].ID
		if len(f.vars) > 0 {
			r.Notes = append(r.Notes, "The variables are as given now, not as in run "+run+".")
		} else {
			r.Notes = append(r.Notes, "The variables are those of run "+run+".")
			if others := replay.New(st, steps.Registry(), nil).ChangedInputs(run, loaded); len(others) > 0 {
				r.Notes = append(r.Notes, verdict.Sentence(replay.Needs(run, others)))
			}
		}
	}
	r.Engine = cmp.Or(f.engine, r.Engine)
	r.Spec, r.Kind, err = lab.VariantSpec(r.Engine, r.Knobs)
	if err != nil {
		return nil, fmt.Errorf("%s of plan %s: %w", r.Variant, p.Name, err)
	}
	return r, nil
}
