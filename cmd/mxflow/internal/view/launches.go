package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Launch prints every metric of a launch with all its statistics.
func Launch(on table.Screen, l *ledger.Launch) {
	fmt.Fprintf(on, "\nlaunch %s of %s (%s), started %s, %.1f s, ok: %s\n", l.ID, l.Variant, l.Purpose,
		verdict.Second(l.Started), l.Seconds, launchOK(l))
	if p := l.Place; p != nil {
		fmt.Fprintf(on, "  on %s\n", strings.Join(append([]string{p.Name}, p.GPUs...), ", "))
	}
	if started := report.StartedAs(l); started != "" {
		fmt.Fprintf(on, "  started as: %s\n", started)
	}
	for _, w := range launchWords(l) {
		fmt.Fprintf(on, "  %s\n", w)
	}
	if l.Asked != nil {
		fmt.Fprintf(on, "  the first request was sent after %s of the log; earlier lines show configuration only\n",
			verdict.Count(*l.Asked, "line"))
	}
	for _, c := range l.Cells {
		fmt.Fprintf(on, "  sent %s\n", report.Workload(l, c))
	}
	for _, of := range (measure.Recording{Cells: l.Cells}).Searched() {
		fmt.Fprintf(on, "\ncapacity of %s: %s\n\n", of, report.CapacityText(measure.Capacity(l.Cells, of)))
		t := report.CurveTable(report.ProbesOf(l.Cells, of))
		on.Table(t.Head, t.Rows)
		fmt.Fprintln(on)
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
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(l.Observed)) {
		said = append(said, name+" "+ledger.ObservedValues([]*ledger.Launch{l}, name))
	}
	if len(said) > 0 {
		on.Sentence("observed: " + strings.Join(said, ", "))
	}
}

// Ran prints what identified a launch: what its command names, and what was seen open or loaded
// while it ran.
func Ran(on table.Screen, l *ledger.Launch, used source.Used) {
	var rows [][]string
	for name, t := range sorted.All(l.Trees) {
		state := source.Short(t.Commit)
		if t.Diff != "" {
			state += " with changes"
		}
		rows = append(rows, []string{"tree " + name, "", state, t.Path})
	}
	for _, part := range []struct {
		of     source.Identity
		opened string
	}{{used.Named, ""}, {used.Opened, "opened "}} {
		for _, f := range part.of.Files {
			rows = append(rows, []string{part.opened + "file", "", source.Short(f.Digest), f.Path})
		}
		for _, f := range part.of.Folders {
			what := "folder"
			if f.Package != "" {
				what = "package " + strings.TrimSpace(f.Package+" "+f.Version)
			}
			path := f.Path()
			if f.Edited != nil {
				path += "\nnot as installed: " + source.FileList(f.Edited)
			}
			rows = append(rows, []string{part.opened + what, fmt.Sprint(f.Files), source.Short(f.List), path})
		}
		if part.of.Unknown != "" {
			on.Sentence("not known by content: " + part.of.Unknown)
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(on)
		on.Table([]string{"ran", "files", "content", "path"}, rows)
	}
	if used.Wrote != nil {
		on.Sentence("it wrote: " + strings.Join(used.Wrote, ", "))
	}
}

var statColumns = []string{"median", "mean", "std", "min", "p90", "p95", "p99", "max"}

// statistic is a number of a summary: a p99 of eight values is not their maximum, so one
// that needs more values is left out.
func statistic(s measure.Summary, stat string) string {
	if v, known := s.Stats[stat]; known {
		return verdict.Number(v, "")
	}
	return "–"
}

// allLaunches prints every launch of a run: how it ended, and every metric with all its
// statistics.
func allLaunches(on table.Screen, launches []*ledger.Launch) {
	if len(launches) == 0 {
		return
	}
	var rows [][]string
	for _, l := range launches {
		rows = append(rows,
			[]string{l.ID, l.Variant, launchOK(l), fmt.Sprintf("%.1f", l.Seconds), strings.Join(launchWords(l), "\n")})
	}
	fmt.Fprintln(on)
	on.Table([]string{"launch", "variant", "ok", "seconds", "notes"}, rows)
	for _, l := range launches {
		Launch(on, l)
	}
}

// perVariant prints what the launches of a run that count came to: a row for each variant
// of a session.
func perVariant(on table.Screen, s *report.Summary, v *ledger.RunView) {
	var arms []*report.Arm
	for _, l := range v.Launches {
		compared := slices.ContainsFunc(v.Decisions, func(d ledger.Decided) bool {
			return len(d.Rows) > 0 && d.Session == l.Session
		})
		if l.Purpose != ledger.ForBenchmark || !measures(l.Node) || !l.OK || len(l.Invalid) > 0 || compared {
			continue
		}
		i := slices.IndexFunc(arms, func(a *report.Arm) bool {
			return a.Session == l.Session && a.Variant == l.Variant && a.Block == l.Block
		})
		if i < 0 {
			i, arms = len(arms), append(arms, &report.Arm{Session: l.Session, Variant: l.Variant, Block: l.Block})
		}
		arms[i].Launches = append(arms[i].Launches, l)
	}
	if blocks := s.Alone(arms); len(blocks) > 0 {
		fmt.Fprintln(on)
		printBlocks(on, blocks)
	}
}

// aside prints what bears on launches, each cause once: why some do not count, and notes.
func aside(on table.Screen, launches []*ledger.Launch) {
	type group struct {
		text, first string
		n           int
	}
	var order []string
	groups := map[string]*group{}
	for _, l := range launches {
		what, reasons, seen := "", slices.Clone(l.Notes), map[string]bool{}
		if !l.OK {
			what, reasons = "broke: ", []verdict.Reason{l.Error}
		} else if len(l.Invalid) > 0 {
			what, reasons = "discarded: ", l.Invalid
		}
		for _, r := range reasons {
			root := r
			for len(root.Causes) == 1 {
				root = root.Causes[0]
			}
			key := what + string(root.Kind)
			if groups[key] == nil {
				order, groups[key] = append(order, key), &group{text: what + verdict.Brief(r), first: l.ID}
			}
			if !seen[key] {
				groups[key].n++
			}
			seen[key] = true
		}
	}
	for i, key := range order {
		if i == 0 {
			fmt.Fprintln(on)
		}
		g := groups[key]
		on.Sentence(fmt.Sprintf("%d of %s (%s…): %s", g.n, verdict.Launches(len(launches)), g.first, g.text))
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
