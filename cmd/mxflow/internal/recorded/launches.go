// Package recorded finds records by people's names for them, and prints them: a run with
// its decisions and launches, a launch alone, a metric over all runs. It decides nothing
// and leaves nothing out silently.
package recorded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Launch prints every metric of a launch with all its statistics.
func Launch(on table.Screen, l *ledger.Launch) {
	fmt.Fprintf(on, "\nlaunch %s of %s (%s), started %s, %.1f s, ok: %s\n", l.ID, l.Variant, l.Purpose, verdict.Second(l.Started), l.Seconds, launchOK(l))
	if p := l.Place; p != nil {
		fmt.Fprintf(on, "  on %s", strings.Join(append([]string{p.Name}, p.GPUs...), ", "))
		if len(p.CPUs) > 0 {
			fmt.Fprintf(on, ", bound to %s", verdict.Count(len(p.CPUs), "CPU"))
		}
		fmt.Fprintln(on)
	}
	for _, w := range launchWords(l) {
		fmt.Fprintf(on, "  %s\n", w)
	}
	if l.Asked != nil {
		fmt.Fprintf(on, "  the first request was sent after %s of the log; earlier lines show configuration only\n", verdict.Count(*l.Asked, "line"))
	}
	for _, k := range []struct{ what, digest string }{{"samples", l.Samples}, {"series", l.Series}, {"log", l.Log}} {
		if k.digest != "" {
			fmt.Fprintf(on, "  %s: artifact %s\n", k.what, k.digest)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.Left)) {
		fmt.Fprintf(on, "  %s: artifact %s\n", path, l.Left[path])
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
		fmt.Fprintln(on)
		on.Table(append([]string{"metric", "unit", "n"}, statColumns...), rows)
		printLacking(on, rows)
	}
}

var statColumns = []string{"median", "mean", "std", "min", "p90", "p95", "p99", "max"}

// lacking is the prefix shown for a statistic that needs more values.
const lacking = "n "

// statistic is a number of a summary, or how many of the required values there are: a p99
// of eight values is not a maximum. A value that a launch has once has no spread.
func statistic(s measure.Summary, stat string) string {
	if v, known := s.Stats[stat]; known {
		return verdict.Number(v, "")
	}
	if least := measure.StatOf(stat).Least; s.N > 1 && s.N < least {
		return fmt.Sprintf("%s%d/%d", lacking, s.N, least)
	}
	return "–"
}

// printLacking explains the entries for statistics that need more values.
func printLacking(on table.Screen, rows [][]string) {
	if slices.ContainsFunc(slices.Concat(rows...), func(cell string) bool { return strings.HasPrefix(cell, lacking) }) {
		fmt.Fprintln(on, "\nn K/N: only K values; this percentile needs N.")
	}
}

// Launches prints the results of a run's launches, and a table of the headline metrics
// per workload; with all, every metric of each.
func Launches(on table.Screen, st *store.Store, launches []*ledger.Launch, all bool) {
	if len(launches) == 0 {
		return
	}
	var rows, shown [][]string
	for _, l := range launches {
		rows = append(rows, []string{l.ID, l.Variant, launchOK(l), fmt.Sprintf("%.1f", l.Seconds), strings.Join(launchWords(l), "\n")})
	}
	fmt.Fprintln(on)
	on.Table([]string{"launch", "variant", "ok", "seconds", "notes"}, rows)
	for _, g := range report.Groups(launches) {
		head, rows := groupTable(g, launches)
		if len(rows) > 0 && len(g.Columns) > 0 {
			fmt.Fprintln(on)
			on.Table(head, rows)
			shown = append(shown, rows...)
		}
	}
	printLacking(on, shown)
	limits(on, st, launches)
	if all {
		for _, l := range launches {
			Launch(on, l)
		}
	}
	Observed(on, launches)
	if !all {
		fmt.Fprintln(on, "\nEvery metric with all its statistics: mxflow show LAUNCH, or --all.")
	}
}

// limits prints the share of the machine's limits that the arms of these launches reached.
func limits(on table.Screen, st *store.Store, launches []*ledger.Launch) {
	for i, share := range report.Limits(report.Parts(report.Arms(st), launches)...) {
		if i == 0 {
			fmt.Fprintln(on)
		}
		fmt.Fprintln(on, share.String())
	}
}

// launchOK is how a launch ended: an invalid one was complete, but its measurement does
// not count.
func launchOK(l *ledger.Launch) string {
	switch {
	case !l.OK:
		return "no"
	case len(l.Invalid) > 0:
		return "invalid"
	}
	return "yes"
}

// launchWords are notes on a launch beside its numbers.
func launchWords(l *ledger.Launch) (words []string) {
	if !l.Error.IsZero() {
		words = append(words, l.Error.String())
	}
	words = append(words, verdict.Lines(l.Invalid)...)
	if l.Engine["caches"] == "cold" {
		words = append(words, "cold caches")
	}
	return append(words, verdict.Lines(l.Notes)...)
}

// groupTable has a row per cell of a workload and launch.
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
				name, sent = "", "" // printed once
			}
		}
	}
	return head, rows
}

// Observed prints what the engines reported about themselves, one row per variant. If its
// launches differ, each value is shown.
func Observed(on table.Screen, launches []*ledger.Launch) {
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
			said = append(said, name+" "+ledger.ObservedValues(having, name))
		}
		rows = append(rows, []string{v, fmt.Sprint(len(byVariant[v])), strings.Join(said, ", ")})
	}
	if len(rows) > 0 {
		fmt.Fprintln(on)
		on.Table([]string{"variant", "launches", "observed"}, rows)
	}
}
