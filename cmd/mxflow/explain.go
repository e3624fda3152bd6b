package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/runtime/report"
)

// explainOptions are the command line of mxflow explain.
type explainOptions struct {
	*app
	attempt int
}

func newExplainCommand(a *app) *cobra.Command {
	o := &explainOptions{app: a}
	c := &cobra.Command{
		Use:   "explain GATE|FEATURE|NODE [PLAN]",
		Short: "Explain one decision: the data, the test, what would change it",
		Long: `Explains a recorded decision: each rule, every launch in starting order, each
interim test with its bounds, what would have changed the verdict, and how many
more launches would probably settle what is open. Nothing is started.

Name a gate by its phase, and a feature or step by its name; 'spec[short]' is one of the
values that feature spec chose from. 'stack' is how far what was accepted is from the
baseline. --attempt selects an earlier decision.`,
		Example: `  mxflow explain cutlass plan.hcl
  mxflow explain feature.cutlass_grouped_gemm --attempt 1`,
		Args: cobra.RangeArgs(1, 2),
		RunE: o.run,
	}
	c.Flags().IntVar(&o.attempt, "attempt", 0, "explain this attempt instead of the newest")
	a.jsonFlag(c.Flags())
	return c
}

func (o *explainOptions) run(c *cobra.Command, args []string) error {
	o.fold()
	if c.Flags().Changed("attempt") && o.attempt < 1 {
		return fmt.Errorf("--attempt %d: attempts count from 1", o.attempt)
	}
	st, err := o.reader(args[1:])
	if err != nil {
		return err
	}
	defer st.Close()
	node, alternative, err := view.Argued(st, args[0])
	if err != nil && args[0] == view.Total {
		s := report.SummaryOf(st, nil, time.Now())
		o.show(s.Ends, func() { view.ExplainTotal(o.screen(), s) })
		return nil
	}
	if err != nil {
		return err
	}
	e, err := view.Explain(st, node, alternative, o.attempt)
	if err != nil {
		return err
	}
	o.show(e, func() { e.Print(o.screen()) })
	return nil
}
