package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/internal/shell"
)

// initOptions are the command line of mxflow init.
type initOptions struct {
	*app
	kind        string
	agent, yaml bool
}

func newInitCommand(a *app) *cobra.Command {
	o := &initOptions{app: a}
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a starter plan",
		Long: `Writes plan.hcl for a kind of engine, with comments that explain each part, into
DIR or this folder; with --yaml the same plan as plan.yaml. The plan for the
embedded engine runs as is; the others mark what to fill in. An existing plan is
never overwritten.

--agent writes AGENTS.md and SKILL.md instead, which tell a coding agent how to
propose ports for a sealed plan.

Kinds: ` + strings.Join(scaffold.Kinds(), " ") + ".",
		Example: `  mxflow init
  mxflow init --kind vllm port
  mxflow init --yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: o.run,
	}
	c.Flags().StringVar(&o.kind, "kind", "embedded", kindUsage)
	c.Flags().BoolVar(&o.agent, "agent", false, "write AGENTS.md and SKILL.md for a coding agent instead")
	c.Flags().BoolVar(&o.yaml, "yaml", false, "write plan.yaml instead of plan.hcl")
	c.MarkFlagsMutuallyExclusive("agent", "kind")
	c.MarkFlagsMutuallyExclusive("agent", "yaml")
	return c
}

func (o *initOptions) run(_ *cobra.Command, args []string) error {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	if o.agent {
		names, err := scaffold.Agent(dir)
		if err == nil {
			plan := filepath.Join(dir, "plan.hcl")
			fmt.Fprintf(o.stdout, "Wrote %s. Next:\n\n  %s\n  %s\n", strings.Join(names, " and "),
				shell.Line("mxflow", "seal", "--knob", "KNOB", "--features", "3", plan),
				shell.Line("mxflow", "mcp", plan))
		}
		return err
	}
	path, err := scaffold.Plan(o.kind, dir, o.yaml)
	if err != nil {
		return err
	}
	next := [][2]string{
		{shell.Line("mxflow", "validate", path), "find mistakes; nothing is started"},
		{shell.Line("mxflow", "plan", path), "what would run, in order"},
		{shell.Line("mxflow", "apply", path), "start the engine, measure, decide"},
	}
	if !scaffold.RunsAsIs(o.kind) {
		next = slices.Insert(next, 0,
			[2]string{"edit " + shell.Quote(path), "the model, the knob and its evidence are examples"})
	}
	if o.yaml {
		to := shell.Quote(filepath.Join(dir, "mxflow.schema.json"))
		next = append(next, [2]string{"mxflow schema > " + to, "for editors that complete YAML"})
	}
	fmt.Fprintf(o.stdout, "Wrote %s. Next:\n\n", path)
	o.screen().Commands(next)
	return nil
}
