package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/again"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/recorded"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/standing"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newShowCommand(a *app) *cobra.Command {
	recompute, all := false, false
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
				showLaunch(a, l)
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
			fmt.Fprintf(a.stdout, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, tell.Second(v.Started))
			if v.Done {
				fmt.Fprintf(a.stdout, "%s, exit status %d\n", tell.Line(v.Reason), v.Exit)
			}
			if s := v.Start; s != nil {
				fmt.Fprintf(a.stdout, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, tell.Pairs(s.Environment, " ", ", "))
			}
			fmt.Fprintln(a.stdout)
			var rows [][]string
			var overruled []report.Overruled
			large := !all && len(v.Launches) > a.height()/2
			for _, d := range v.Decisions {
				var w *ledger.Waiver
				for _, given := range v.Waivers {
					if given.About(d.Decision) {
						w = given
					}
				}
				o := report.OverruledOf(d.Decision, w, time.Now())
				overruled = append(overruled, o)
				if large && standing.Measures(d.Node) && d.Verdict == verdict.Pass {
					continue
				}
				rows = append(rows, []string{d.Node, o.Word(), fmt.Sprint(d.Attempt), tell.Line(d.Because), strings.Join(tell.Lines(outcome.Why(d.Decision)), "\n")})
			}
			head := []string{"node", "verdict", "attempt", "because", "why"}
			if !slices.ContainsFunc(v.Decisions, func(d store.Decided) bool { return d.Attempt > 1 || d.Because.Code != code.First }) {
				for i, r := range rows {
					rows[i] = slices.Delete(r, 2, 4)
				}
				head = slices.Delete(head, 2, 4)
			}
			a.printTable(head, rows)
			printOverruled(a, overruled)
			for _, d := range v.Decisions {
				outcome.Comparison(a.screen(), d.Decision)
				if all := explain.Moved(st, d.Decision); len(all) > 0 && !large {
					t := report.Movements(all)
					fmt.Fprintf(a.stdout, "\n%s: %s\n", d.Node, report.MovedTitle)
					a.printTable(t.Head, t.Rows)
				}
			}
			if large {
				recorded.Limits(a.screen(), v.Launches)
				fmt.Fprintf(a.stdout, "\n%s; those that count are in mxflow compare, what moved is in mxflow explain, and every one with all its metrics is in mxflow show --all %s.\n", tell.Launches(len(v.Launches)), v.ID)
				return nil
			}
			recorded.Launches(a.screen(), v.Launches, all)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	c.Flags().BoolVar(&all, "all", false, "every metric of every launch, with all its statistics")
	c.Flags().BoolVar(&recompute, "recompute", false, "derive the metrics again from raw data and compare")
	return c
}

// showLaunch prints one launch with all that it measured.
func showLaunch(a *app, l *ledger.Launch) {
	if a.json {
		a.printJSON(l)
		return
	}
	recorded.Launch(a.screen(), l)
	recorded.Observed(a.screen(), []*ledger.Launch{l})
}
