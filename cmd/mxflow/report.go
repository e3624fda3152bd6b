package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/report"
)

func (a *app) reportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "report [PLAN]",
		Short:   "Write the results as Markdown",
		Long:    "Writes gates, features with their evidence, the accepted stack and every launch as one Markdown page.",
		Example: "  mxflow report plan.hcl > RESULTS.md\n  mxflow report --out docs/RESULTS.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			if a.json {
				a.printJSON(map[string]any{"runs": st.Runs(), "decisions": report.Standing(st), "locked": report.Locked(st)})
				return nil
			}
			if out == "" {
				return report.Markdown(a.stdout, st)
			}
			f, err := os.Create(out)
			if err != nil {
				return err
			}
			if err := report.Markdown(f, st); err != nil {
				f.Close()
				return err
			}
			return f.Close()
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write instead of standard output")
	a.jsonFlag(c, "print as JSON")
	return c
}
