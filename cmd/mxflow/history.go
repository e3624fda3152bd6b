package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/recorded"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/report"
)

func newHistoryCommand(a *app) *cobra.Command {
	variant := ""
	c := &cobra.Command{
		Use:   "history METRIC [PLAN]",
		Short: "Show a metric over all runs and where it changed",
		Long: "METRIC is an address as in rules, without a comparison: chat.tg,\n" +
			"chat.ttft.p99, engine.memory_gb, levels.stress.e2e. Each session is a point, the mean\n" +
			"of its launches that count, and each variant a series, whatever its engine was built from\n" +
			"at the time. Changes are found by E-divisive means with a permutation test (p ≤ 0.05).\n\n" +
			"Sessions differ in more than the variant: a change is a flag and decides nothing.",
		Example: "  mxflow history chat.tg\n" +
			"  mxflow history chat.ttft.p99 plan.hcl --variant baseline\n" +
			"  mxflow history chat.tg --json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			h, err := report.HistoryOf(st, args[0])
			if err != nil {
				known := report.Recorded(st)
				return fmt.Errorf("%w.%s", err, lang.DidYouMean(args[0], known))
			}
			if variant != "" {
				var names []string
				for _, s := range h.Series {
					names = append(names, s.Variant)
				}
				h.Series = slices.DeleteFunc(h.Series, func(s report.Series) bool { return s.Variant != variant })
				if len(h.Series) == 0 {
					return fmt.Errorf("no variant %q has %s: use %s.%s", variant, args[0], strings.Join(names, ", "), lang.DidYouMean(variant, names))
				}
			}
			if a.json {
				a.printJSON(h)
				return nil
			}
			recorded.History(a.screen(), h)
			return nil
		},
	}
	c.Flags().StringVar(&variant, "variant", "", "show only this `NAME`: baseline, or a feature")
	a.jsonFlag(c, "print as JSON")
	return c
}
