package main

import (
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/again"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/recorded"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func newShowCommand(a *app) *cobra.Command {
	recompute, all := false, false
	c := &cobra.Command{
		Use:   "show RUN [PLAN]",
		Short: "Show one run: its decisions, launches and measurements",
		Long: "RUN is a run's ID, the beginning of one, or latest; or the ID of one launch, for which\n" +
			"every metric with all its statistics is shown, as --all does for each launch of a run.\n\n" +
			"--recompute derives every metric again from the raw data that was kept and compares\n" +
			"it with what was stored: bit for bit, or within 1e-9 if it was recorded on another\n" +
			"architecture. Exit status: 0 everything agrees,\n" +
			"2 something differs, 3 raw data are missing or there is nothing to recompute.",
		Example: "  mxflow show latest examples/quickstart/plan.hcl\n" +
			"  mxflow show --json latest\n" +
			"  mxflow show --all latest\n" +
			"  mxflow show latest --recompute",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			if recompute {
				out, err := again.Recomputed(st, args[0])
				if err != nil {
					return err
				}
				if a.json {
					a.printJSON(out)
				} else {
					out.Print(a.screen())
				}
				exit, err := out.Verdict()
				return a.fail(exit, err)
			}
			if l, ok := st.LaunchByID(args[0]); ok {
				if a.json {
					a.printJSON(l)
				} else {
					recorded.Launch(a.screen(), l)
					recorded.Observed(a.screen(), []*ledger.Launch{l})
				}
				return nil
			}
			v, err := st.Run(args[0])
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(v)
				return nil
			}
			recorded.Run(a.screen(), st, v, all)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().BoolVar(&all, "all", false, "every metric of every launch, with all its statistics")
	c.Flags().BoolVar(&recompute, "recompute", false, "derive the metrics again from raw data and compare")
	return c
}
