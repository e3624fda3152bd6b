package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/graph"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newGraphCommand(a *app) *cobra.Command {
	var vars []load.Given
	var direction string
	c := &cobra.Command{
		Use:     "graph [PLAN]",
		Short:   "Print the graph of a plan as Mermaid",
		Long:    "Prints what depends on what and, once something was applied, verdicts and locks. A solid edge\nneeds a pass, a dashed one only an end. Edges that follow from others are left out; --json has all.\nVariables are those of the newest run; with --var or --var-file, all are as given now.",
		Example: "  mxflow graph plan.hcl                 # Mermaid, for Markdown\n  mxflow graph --direction LR plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			st, err := a.recordIfAny(path)
			if err != nil {
				return err
			}
			if st != nil {
				defer st.Close()
			}
			res, g, err := a.load(path, asRun(st, vars))
			if err != nil {
				return err
			}
			states := states(a, st, res.Plan)
			switch {
			case direction != "TB" && direction != "LR":
				return fmt.Errorf("--direction %s: use TB (top to bottom) or LR (left to right)", direction)
			case a.json:
				a.printJSON(graph.JSON(g, states))
				return nil
			}
			graph.Mermaid(a.stdout, g, direction, states)
			return nil
		},
	}
	c.Flags().StringVar(&direction, "direction", "TB", "TB, top to bottom, or LR, left to right")
	varFlag(c, &vars)
	a.jsonFlag(c, "print nodes and edges as JSON")
	return c
}

// states are the states of a plan's nodes by what was applied, by ID; nil if nothing was,
// or another plan was.
func states(a *app, st *store.Store, p *plans.Plan) map[string]string {
	if st == nil {
		return nil
	}
	if err := apply.SamePlan(st, p); err != nil {
		fmt.Fprintf(a.stderr, "note: shown without verdicts: %v\n", err)
		return nil
	}
	states := map[string]string{}
	for _, r := range report.Rows(st) {
		switch {
		case r.Decided != nil:
			states[r.Node] = report.OverruledOf(r.Decided.Decision, st.Waiver(r.Node), time.Now()).Word()
		case !r.Locked.IsZero():
			states[r.Node] = "locked"
		}
	}
	return states
}
