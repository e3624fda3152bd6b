package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newShowCommand(a *app) *cobra.Command {
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
			a.fold()
			st, err := a.reader(args[1:])
			if err != nil {
				return err
			}
			defer st.Close()
			if again {
				return showRecomputed(a, st, args[0])
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
				fmt.Fprintf(a.stdout, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, pairs(s.Environment))
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
				if large && measures(d.Node) && d.Verdict == verdict.Pass {
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
				printLimits(a, v.Launches)
				fmt.Fprintf(a.stdout, "\n%s; those that count are in mxflow compare, what moved is in mxflow explain, and every one with all its metrics is in mxflow show --all %s.\n", tell.Launches(len(v.Launches)), v.ID)
				return nil
			}
			printLaunches(a, v.Launches, all)
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

// showLaunch prints one launch with all that it measured.
func showLaunch(a *app, l *ledger.Launch) {
	if a.json {
		a.printJSON(l)
		return
	}
	printLaunch(a, l)
	printObserved(a, []*ledger.Launch{l})
}

// printLaunch prints every metric of a launch with all its statistics.
func printLaunch(a *app, l *ledger.Launch) {
	fmt.Fprintf(a.stdout, "\nlaunch %s of %s (%s), started %s, %.1f s, ok: %s\n", l.ID, l.Variant, l.Purpose, tell.Second(l.Started), l.Seconds, launchOK(l))
	for _, w := range launchWords(l) {
		fmt.Fprintf(a.stdout, "  %s\n", w)
	}
	if c := l.Client; c != nil {
		fmt.Fprintf(a.stdout, "  the client measured itself with %s: at the 99th percentile %.2g ms off in times to the first token, %.2g ms between tokens\n", tell.Count(c.Streams, "stream"), c.TTFTp99, c.ITLp99)
	}
	if l.Asked != nil {
		fmt.Fprintf(a.stdout, "  the first request went out after %s of the log; what stands before was configured\n", tell.Count(*l.Asked, "line"))
	}
	for _, k := range []struct{ what, digest string }{{"samples", l.Samples}, {"series", l.Series}, {"log", l.Log}} {
		if k.digest != "" {
			fmt.Fprintf(a.stdout, "  %s: artifact %s\n", k.what, k.digest)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.Left)) {
		fmt.Fprintf(a.stdout, "  %s: artifact %s\n", path, l.Left[path])
	}
	var rows [][]string
	for _, address := range slices.Sorted(maps.Keys(l.Metrics)) {
		s := l.Metrics[address]
		row := []string{address, s.Unit, fmt.Sprint(s.N)}
		for _, stat := range statColumns {
			row = append(row, statistic(s, stat))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable(append([]string{"metric", "unit", "n"}, statColumns...), rows)
		printLacking(a, rows)
	}
}

var statColumns = []string{"median", "mean", "std", "min", "p90", "p95", "p99", "max"}

// lacking begins what stands for a statistic that takes more values.
const lacking = "n "

// statistic is a number of a summary, or how many of the values that it takes
// there are: a p99 of eight values is no maximum. What a launch has once has no
// spread.
func statistic(s measure.Summary, stat string) string {
	if v, known := s.Stats[stat]; known {
		return tell.Number(v, "")
	}
	if least := measure.LeastValues(stat); s.N > 1 && s.N < least {
		return fmt.Sprintf("%s%d/%d", lacking, s.N, least)
	}
	return "–"
}

// printLacking explains what stands for statistics in rows that take more values.
func printLacking(a *app, rows [][]string) {
	if slices.ContainsFunc(slices.Concat(rows...), func(cell string) bool { return strings.HasPrefix(cell, lacking) }) {
		fmt.Fprintln(a.stdout, "\nn 8/299: a percentile that 8 values do not show; it takes 299.")
	}
}

// printLaunches prints what the launches of a run came to, and a table of the
// headline metrics for each workload; with all, every metric of each.
func printLaunches(a *app, launches []*ledger.Launch, all bool) {
	if len(launches) == 0 {
		return
	}
	var rows, shown [][]string
	for _, l := range launches {
		rows = append(rows, []string{l.ID, l.Variant, launchOK(l), fmt.Sprintf("%.1f", l.Seconds), strings.Join(launchWords(l), "\n")})
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"launch", "variant", "ok", "seconds", "notes"}, rows)
	for _, g := range report.Groups(launches) {
		head, rows := groupTable(g, launches)
		if len(rows) > 0 && len(g.Columns) > 0 {
			fmt.Fprintln(a.stdout)
			a.printTable(head, rows)
			shown = append(shown, rows...)
		}
	}
	printLacking(a, shown)
	printLimits(a, launches)
	if all {
		for _, l := range launches {
			printLaunch(a, l)
		}
	}
	printObserved(a, launches)
	if !all {
		fmt.Fprintln(a.stdout, "\nEvery metric with all its statistics: mxflow show LAUNCH, or --all.")
	}
}

// printLimits says how much of what the machine allows launches came to.
func printLimits(a *app, launches []*ledger.Launch) {
	for i, share := range report.Limits(launches) {
		if i == 0 {
			fmt.Fprintln(a.stdout)
		}
		fmt.Fprintln(a.stdout, tell.Line(share))
	}
}

// launchOK is how a launch ended: one that is invalid was complete, and what it
// measured does not count.
func launchOK(l *ledger.Launch) string {
	switch {
	case !l.OK:
		return "no"
	case len(l.Invalid) > 0:
		return "invalid"
	}
	return "yes"
}

// launchWords are what is to be known of a launch beside its numbers.
func launchWords(l *ledger.Launch) (words []string) {
	if !l.Error.IsZero() {
		words = append(words, tell.Line(l.Error))
	}
	words = append(words, tell.Lines(l.Invalid)...)
	if state := l.Engine["caches"]; state != "" {
		words = append(words, state+" caches")
	}
	return append(words, tell.Lines(l.Notes)...)
}

// groupTable has a row for each cell of a workload and launch.
func groupTable(g report.Group, launches []*ledger.Launch) (head []string, rows [][]string) {
	workload := g.ByCell()
	head = []string{"launch", "variant"}
	if workload {
		head = []string{g.Name, "sent", "launch"} // whose ID names the variant
	}
	for _, c := range g.Columns {
		head = append(head, c.Head)
	}
	for _, cell := range g.Cells {
		name, sent := cell, report.Sent(launches, cell)
		for _, l := range launches {
			row := []string{l.ID, l.Variant}
			if workload {
				row = []string{name, sent, l.ID}
			}
			measured := false
			for _, c := range g.Columns {
				text := "–"
				if s, ok := c.Of(l, cell); ok {
					text = statistic(s, c.Stat)
				}
				measured = measured || text != "–"
				row = append(row, text)
			}
			if measured {
				rows = append(rows, row)
				name, sent = "", "" // said once
			}
		}
	}
	return head, rows
}

// printObserved prints what the engines said of themselves, one row a variant. Where
// its launches differ, each value is shown.
func printObserved(a *app, launches []*ledger.Launch) {
	var variants []string
	byVariant := map[string][]*ledger.Launch{}
	for _, l := range launches {
		if len(l.Observed) == 0 {
			continue
		}
		if byVariant[l.Variant] == nil {
			variants = append(variants, l.Variant)
		}
		byVariant[l.Variant] = append(byVariant[l.Variant], l)
	}
	var rows [][]string
	for _, v := range variants {
		names := map[string]bool{}
		for _, l := range byVariant[v] {
			for name := range l.Observed {
				names[name] = true
			}
		}
		var said []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			having := slices.DeleteFunc(slices.Clone(byVariant[v]), func(l *ledger.Launch) bool { _, has := l.Observed[name]; return !has })
			said = append(said, name+" "+ledger.SaidBy(having, name))
		}
		rows = append(rows, []string{v, fmt.Sprint(len(byVariant[v])), strings.Join(said, ", ")})
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout)
		a.printTable([]string{"variant", "launches", "observed"}, rows)
	}
}
