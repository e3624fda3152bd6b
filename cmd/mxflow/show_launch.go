package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// showLaunch prints one launch with all that it measured.
func (a *app) showLaunch(l *ledger.Launch) {
	if a.json {
		a.printJSON(l)
		return
	}
	a.everything(l)
	a.observed([]*ledger.Launch{l})
}

// everything prints every metric of a launch with all its statistics.
func (a *app) everything(l *ledger.Launch) {
	fmt.Fprintf(a.stdout, "\nlaunch %s of %s (%s), started %s, %.1f s, ok: %s\n", l.ID, l.Variant, l.Purpose, l.Started.Local().Format("2006-01-02 15:04:05"), l.Seconds, launchOK(l))
	for _, w := range launchWords(l) {
		fmt.Fprintf(a.stdout, "  %s\n", w)
	}
	if c := l.Client; c != nil {
		fmt.Fprintf(a.stdout, "  the client measured itself with %s: at the 99th percentile %.2g ms off in times to the first token, %.2g ms between tokens\n", count(c.Streams, "stream"), c.TTFTp99, c.ITLp99)
	}
	for _, k := range []struct{ what, digest string }{{"samples", l.Samples}, {"series", l.Series}, {"log", l.Log}} {
		if k.digest != "" {
			fmt.Fprintf(a.stdout, "  %s: artifact %s\n", k.what, k.digest)
		}
	}
	var rows [][]string
	few := false
	for _, address := range slices.Sorted(maps.Keys(l.Metrics)) {
		s := l.Metrics[address]
		row := []string{address, s.Unit, fmt.Sprint(s.N)}
		for _, stat := range statColumns {
			text, lacks := statistic(s, stat)
			few = few || lacks
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(a.stdout)
	a.printTable(append([]string{"metric", "unit", "n"}, statColumns...), rows)
	if few {
		fmt.Fprintln(a.stdout, "\nn 8/299: a percentile that 8 values do not show; it takes 299.")
	}
}

var statColumns = []string{"median", "mean", "std", "min", "p90", "p95", "p99", "max"}

// statistic is a number of a summary, or how many of the values that it takes
// there are: a p99 of eight values is no maximum. What a launch has once has no
// spread.
func statistic(s measure.Summary, stat string) (text string, few bool) {
	if v, there := s.Stats[stat]; there {
		return report.Digits(v), false
	}
	if least := measure.LeastValues(stat); s.N > 1 && s.N < least {
		return fmt.Sprintf("n %d/%d", s.N, least), true
	}
	return "–", false
}
