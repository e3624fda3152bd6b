package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

func (a *app) showCommand() *cobra.Command {
	again, all := false, false
	c := &cobra.Command{
		Use:   "show RUN [PLAN]",
		Short: "Show one run: its decisions, launches and what they measured",
		Long: "RUN is a run's ID, the beginning of one, or latest; or the ID of one launch, of which\n" +
			"every metric with all its statistics is shown, as --all does for each launch of a run.\n\n" +
			"--recompute derives every metric again from the raw data that was kept and compares\n" +
			"with what was stored: bit for bit, or within 1e-9 where it was recorded on another\n" +
			"architecture. Exit status: 0 everything agrees,\n" +
			"2 something differs, 3 raw data are missing or there is nothing to recompute.",
		Example: "  mxflow show latest examples/quickstart/plan.hcl\n" +
			"  mxflow show --json latest\n" +
			"  mxflow show --all latest\n" +
			"  mxflow show latest --recompute",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			if again {
				return a.showRecomputed(st, args[0])
			}
			if l, ok := st.LaunchByID(args[0]); ok {
				a.showLaunch(l)
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
			fmt.Fprintf(a.stdout, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, v.Started.Local().Format("2006-01-02 15:04:05"))
			if v.Done {
				fmt.Fprintf(a.stdout, "%s, exit status %d\n", tell.Line(v.Reason), v.Exit)
			}
			if s := v.Start; s != nil {
				fmt.Fprintf(a.stdout, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, pairs(s.Environment))
			}
			fmt.Fprintln(a.stdout)
			var rows [][]string
			var overruled []report.Overruled
			for _, d := range v.Decisions {
				var w *ledger.Waiver
				for _, given := range v.Waivers {
					if given.About(d.Decision) {
						w = given
					}
				}
				o := report.OverruledOf(d.Decision, w, time.Now())
				overruled = append(overruled, o)
				rows = append(rows, []string{d.Node, o.Word(), fmt.Sprint(d.Attempt), tell.Line(d.Because), strings.Join(tell.Lines(why(d.Decision)), "\n")})
			}
			a.printTable([]string{"node", "verdict", "attempt", "because", "why"}, rows)
			a.printOverruled(overruled)
			for _, d := range v.Decisions {
				a.comparison(d.Decision)
			}
			a.launches(v.Launches, all)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().BoolVar(&all, "all", false, "every metric of every launch, with all its statistics")
	c.Flags().BoolVar(&again, "recompute", false, "derive the metrics again from raw data and compare")
	return c
}

func pairs(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+" "+m[k])
	}
	return strings.Join(out, ", ")
}
