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
		Short: "Explain one decision: the data, the test, what would change it",
		Long: `Explains a recorded decision: each rule, every launch in starting order, each
interim test with its bounds, what would have changed the verdict, and how many
more launches would probably settle what is open. Nothing is started.

Name a gate by its phase, and a feature or step by its name; 'spec[short]' is one of the
values that feature spec chose from. --attempt selects an earlier decision.`,
		Example: `  mxflow explain cutlass plan.hcl
  mxflow explain feature.cutlass_grouped_gemm --attempt 1`,
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
	a.jsonFlag(c.Flags())
	c.Flags().IntVar(&attempt, "attempt", 0, "explain this attempt instead of the newest")
	return c
}
