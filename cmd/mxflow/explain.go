package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
)

func newExplainCommand(a *app) *cobra.Command {
	attempt := 0
	c := &cobra.Command{
		Use:   "explain GATE|FEATURE|NODE [PLAN]",
		Short: "Argue one decision: the data, the test, and what would have changed it",
		Long: `Prints a recorded decision as an engineer would argue it: for each comparison of
each rule the claim, every launch in starting order, every look with its statistic
and levels, the interval, what would have changed the verdict, and how many more
launches would probably settle what is open. It reads the state directory beside
PLAN, or in the current folder, and starts nothing.

A gate can be named by its phase, a feature by its name: cutlass, phase.cutlass and
phase.cutlass.gate are the same, and 'spec[short]' is an alternative of feature spec,
argued alone. The newest decision is explained; --attempt selects an earlier one. Exit
status: 0 explained, 1 no such node or decision.`,
		Example: "  mxflow explain cutlass plan.hcl\n" +
			"  mxflow explain feature.cutlass_grouped_gemm --attempt 1\n" +
			"  mxflow explain phase.cutlass.gate --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			if c.Flags().Changed("attempt") && attempt < 1 {
				return fmt.Errorf("--attempt %d: attempts count from 1", attempt)
			}
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			node, alternative, err := view.Argued(st, args[0])
			if err != nil {
				return err
			}
			e, err := view.Explain(st, node, alternative, attempt)
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(e)
			} else {
				e.Print(a.screen())
			}
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().IntVar(&attempt, "attempt", 0, "explain this attempt instead of the newest")
	return c
}
