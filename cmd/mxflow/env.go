package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// envFlags are what mxflow env is asked for.
type envFlags struct {
	vars    []load.Given
	format  string
	engine  string
	shows   bool
	envOnly bool
}

func (a *app) envCommand() *cobra.Command {
	var f envFlags
	c := &cobra.Command{
		Use:   "env FEATURE|accepted|baseline [PLAN]",
		Short: "Print what reproduces a variant: environment, flags, command line",
		Long: `Prints a variant of the plan as a shell script: the variables that are set and
unset, and the command line by which the engine is started. accepted is the stack
of all features that were accepted, as the state directory has it; while it is
empty that is the baseline. Nothing is started, and no lock is needed.

Sensitive values are left out: a script without them ends with a message that
names what has to be set, rather than starting an engine with a wrong key.
--show-secrets writes them out.

Formats: shell (a script to run or to source), dotenv (NAME='value', for compose
and its like), json, docker (the docker run command alone, of an engine with a
docker block). In a script MXFLOW_PORT is where the engine listens.`,
		Example: "  mxflow env accepted plan.hcl > serve.sh && sh serve.sh\n  mxflow env kv_cache --engine vllm.production plan.hcl\n  eval \"$(mxflow env --env-only accepted plan.hcl)\"",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if a.json {
				if f.format != "" && f.format != "json" {
					return fmt.Errorf("--json is --format json; take away one of --json and --format %s", f.format)
				}
				f.format = "json"
			}
			r, err := a.recipeOf(args, f)
			if err != nil {
				return err
			}
			return a.printRecipe(r, f)
		},
	}
	varFlag(c, &f.vars)
	c.Flags().StringVar(&f.format, "format", "", "shell, dotenv, json or docker (default shell)")
	c.Flags().StringVar(&f.engine, "engine", "", "another engine of the plan, as kind.name (default: the baseline's)")
	c.Flags().BoolVar(&f.shows, "show-secrets", false, "write sensitive values out")
	c.Flags().BoolVar(&f.envOnly, "env-only", false, "leave the command out: to be sourced")
	a.jsonFlag(c, "print as JSON, as --format json does")
	return c
}

// printRecipe writes past the last net for secrets, which would change a script
// that holds none: what is sensitive is a variable in it, or wanted.
func (a *app) printRecipe(r *recipe, f envFlags) error {
	r.shows = f.shows
	s := &script{recipe: r}
	if !f.shows {
		s.secrets = a.secrets
	}
	var text string
	var err error
	switch f.format {
	case "", "shell":
		text = s.write(f.envOnly)
	case "dotenv":
		text, err = s.dotenv()
	case "docker":
		text, err = s.docker()
	case "json":
		text, err = s.json()
	default:
		return fmt.Errorf("there is no format %q: it is shell, dotenv, json or docker%s", f.format, steps.DidYouMean(f.format, []string{"shell", "dotenv", "json", "docker"}))
	}
	if err == nil {
		_, err = fmt.Fprint(bare(a.stdout), strings.TrimRight(text, "\n")+"\n")
	}
	return err
}
