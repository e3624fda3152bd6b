package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
)

func newInitCommand(a *app) *cobra.Command {
	var kind string
	var agent bool
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a starter plan",
		Long: `Writes a plan.hcl for an engine, with comments that explain each part. The one
for the embedded engine runs as is; the others mark what to fill in. It goes into
the current folder, or into DIR, which is created if it does not exist. An
existing plan is never overwritten. With --agent it writes AGENTS.md and SKILL.md
instead, which tell a coding agent how to propose ports for a sealed plan.

Kinds of engines: ` + strings.Join(scaffold.Kinds(), ", ") + ".",
		Example: "  mxflow init                      # runs anywhere: mxflow apply plan.hcl\n  mxflow init --engine vllm port   # for vLLM; openai for any other server",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if agent {
				names, err := scaffold.Agent(dir)
				if err == nil {
					fmt.Fprintf(a.stdout, "Wrote %s. Next:\n\n  mxflow seal --by NAME --knob KNOB --features 3 plan.hcl\n  mxflow mcp plan.hcl\n", strings.Join(names, " and "))
				}
				return err
			}
			path, err := scaffold.Plan(kind, dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "Wrote %s. Next:\n\n", path)
			if !scaffold.RunsAsIs(kind) {
				fmt.Fprintf(a.stdout, "  edit %-28s the model, the knob and its evidence are examples\n", path)
			}
			for _, next := range [][2]string{
				{"mxflow validate " + path, "find mistakes; nothing is started"},
				{"mxflow plan " + path, "what would run, in order"},
				{"mxflow apply " + path, "start the engine, measure, decide"},
			} {
				fmt.Fprintf(a.stdout, "  %-33s %s\n", next[0], next[1])
			}
			return nil
		},
	}
	c.Flags().StringVar(&kind, "engine", "embedded", "kind of engine: "+strings.Join(scaffold.Kinds(), " or "))
	c.Flags().BoolVar(&agent, "agent", false, "write AGENTS.md and SKILL.md for a coding agent instead")
	c.MarkFlagsMutuallyExclusive("agent", "engine")
	return c
}
