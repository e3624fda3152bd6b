package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/decide"
)

// table prints what a run decided, and why.
func printRun(a *app, res *apply.Result) {
	s, end := res.Summary, res.End
	var rows [][]string
	page := &tell.Page{}
	for _, r := range s.Rows {
		if row := tableRow(r, page); row != nil {
			if r.Decision == nil && r.Locked.IsZero() {
				row[3] += behind(": ", keptOf(res.Left, r.Node))
			}
			rows = append(rows, row)
		}
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"phase", "decision", "verdict", "why"}, rows)
	printLimits(a, launchesOf(res))
	printComparisons(a, s)
	lastWords(a, s)
	switch {
	case end.Reason.Code == code.Interrupted:
		fmt.Fprintf(a.stdout, "\nInterrupted after %s. Progress is saved; run apply again to resume.\n", rough(res.Took.Seconds()))
	case end.Exit == verdict.ExitBroken && end.Reason.Code != code.Finished:
		fmt.Fprintf(a.stdout, "\nStopped after %s: %s\n", rough(res.Took.Seconds()), tell.Line(end.Reason))
	default:
		fmt.Fprintf(a.stdout, "\n%s after %s (exit status %d).\n", closing(end.Verdict, s.Rows), rough(res.Took.Seconds()), end.Exit)
	}
	undecided(a, s)
	for _, r := range s.Rows {
		if r.Reused && !r.Decision.Verdict.Unlocks() {
			fmt.Fprintln(a.stdout, "(kept): inputs unchanged; --rerun NAME measures again.")
			break
		}
	}
}

// keptOf says which launches of a feature that was not decided are on record.
func keptOf(left []runtime.Planned, n *runtime.Node) string {
	for _, p := range left {
		if n.Kind == runtime.KindFeature && p.Node.ID == runtime.BenchmarkID(n.Feature) {
			for _, note := range p.Notes {
				if note.Code == code.LaunchesKept {
					return tell.Line(note)
				}
			}
		}
	}
	return ""
}

// undecided says what would decide what is inconclusive: features, and gates of which
// the features say nothing.
func undecided(a *app, s runtime.Summary) {
	said := map[string]bool{}
	for _, r := range s.Rows {
		d := r.Decision
		if d == nil || d.Verdict != verdict.Inconclusive || r.Node.Kind != runtime.KindFeature && (r.Node.Kind != runtime.KindGate || said[r.Node.Phase]) {
			continue
		}
		said[r.Node.Phase] = true
		next := tell.Lines(decide.Next(d))
		if len(next) == 0 {
			next = []string{"mxflow explain " + cmp.Or(r.Node.Feature, r.Node.ID) + " says what is open"}
		}
		for _, line := range next {
			table.Paragraph(a.stdout, "", r.Node.ID+": "+line+".", a.column())
		}
	}
}

// launchesOf are the launches that the decisions of a run rest on, each once.
func launchesOf(res *apply.Result) (launches []*ledger.Launch) {
	seen := map[string]bool{}
	for _, r := range res.Summary.Rows {
		if r.Decision == nil {
			continue
		}
		for _, id := range r.Decision.Launches {
			if l, ok := res.Store.LaunchByID(id); ok && !seen[id] {
				seen[id], launches = true, append(launches, l)
			}
		}
	}
	return launches
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

// closing says what came of the gates: "1 of 2 gates failed, 1 locked".
func closing(worst verdict.Verdict, rows []runtime.Row) string {
	switch worst {
	case verdict.Pass:
		text, seen := "Every gate passed", 0
		for _, r := range rows {
			if r.Decision != nil && runtime.Waivable(r.Node.Kind) && len(r.Decision.OnSeenData) > 0 {
				seen++
			}
		}
		if seen > 0 {
			text += fmt.Sprintf(", %d on seen data,", seen)
		}
		return text
	case verdict.Waived:
		return "Every gate passed or is waived"
	case verdict.Error:
		return "Engine or harness error"
	}
	all, of, locked, left := 0, 0, 0, 0
	for _, r := range rows {
		if r.Node.Kind != runtime.KindGate {
			continue
		}
		all++
		switch {
		case r.Locked.Code == code.NotTargeted:
			left++
		case r.Decision != nil && r.Decision.Verdict == worst:
			of++
		case r.Decision == nil && !r.Locked.IsZero():
			locked++
		}
	}
	what := map[verdict.Verdict]string{verdict.Fail: "failed", verdict.Invalid: "invalid", verdict.Inconclusive: "inconclusive"}[worst]
	switch {
	case of == 0 && left > 0:
		return fmt.Sprintf("%s: %d of %s left out by --target", tell.Capital(string(worst)), left, count(all, "gate"))
	case of == 0:
		return "Not every gate passed: " + string(worst)
	}
	text := fmt.Sprintf("%d of %s %s", of, count(all, "gate"), what)
	if locked > 0 {
		text += fmt.Sprintf(", %d locked", locked)
	}
	if left > 0 {
		text += fmt.Sprintf(", %d left out by --target", left)
	}
	return text
}

// tableRow shows what people decide by: baseline, steps, features and gates.
// The measurements below a feature show up in its reasons.
func tableRow(r runtime.Row, page *tell.Page) []string {
	n := r.Node
	if n.Kind == runtime.KindBenchmark || n.Kind == runtime.KindQualify && n.ID != runtime.BaselineID {
		return nil
	}
	row := []string{n.Phase, label(n), "", ""}
	switch {
	case r.Decision != nil:
		row[2] = string(r.Decision.Verdict)
		row[3] = strings.Join(report.Told(page, r.Decision, whyHere(r.Decision)), "\n")
		if r.Reused {
			row[3] = "(kept) " + row[3]
		}
		if len(r.Decision.OnSeenData) > 0 {
			row[2] += ", on seen data"
		}
		if r.Waived {
			row[2] += ", waived"
		}
		if !r.Overruled.IsZero() {
			row[3] = tell.Line(r.Overruled) + "\n" + row[3]
		}
	case !r.Locked.IsZero():
		row[2], row[3] = lockedWord(r.Locked), tell.Line(r.Locked)
	default:
		row[2], row[3] = "-", "not run"
	}
	return row
}

// whyHere leaves out of a confirmed feature what the row of the first engine says,
// which stands above it.
func whyHere(d *ledger.Decision) []verdict.Reason {
	if len(d.Confirmations) == 0 {
		return why(d)
	}
	var reasons []verdict.Reason
	for _, c := range d.Confirmations {
		reasons = append(reasons, c.Reason)
	}
	return append(reasons, verdict.New(code.FirstAbove))
}

func label(n *runtime.Node) string {
	switch n.Kind {
	case runtime.KindFeature:
		return "feature " + n.Feature
	case runtime.KindCriteria:
		if n.FeatureBlock.Engine == "" {
			return "feature " + n.Feature + ", first engine"
		}
		return "feature " + n.FeatureBlock.Name
	case runtime.KindGate:
		return "gate"
	case runtime.KindPhase:
		return "phase"
	case runtime.KindStep:
		return "step " + n.StepBlock.Kind + " " + n.StepBlock.Name
	}
	return n.ID
}

// comparisons prints the tables of the engines that a run compared.
func printComparisons(a *app, s runtime.Summary) {
	for _, r := range s.Rows {
		if r.Decision != nil {
			a.comparison(r.Decision)
		}
	}
}

// comparison prints the table of one decision; nothing where it has none.
func (a *app) comparison(d *ledger.Decision) {
	if len(d.Rows) == 0 {
		return
	}
	fmt.Fprintf(a.stdout, "\n%s:\n", d.Node)
	a.compared(d.Rows)
	t := report.Effects(d.Effects)
	if len(t.Rows) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, "\nBest cells:")
	for _, line := range report.Best(d.Rows) {
		fmt.Fprintln(a.stdout, "- "+line)
	}
	fmt.Fprintln(a.stdout, report.BestLegend)
	fmt.Fprintln(a.stdout)
	a.printTable(t.Head, t.Rows)
	fmt.Fprintln(a.stdout, report.EffectsLegend)
}

// compared prints the rows of a comparison of engines.
func (a *app) compared(rows []verdict.Row) {
	for i, t := range report.Comparison(rows) {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		a.printTable(t.Head, t.Rows)
	}
	for _, n := range report.ComparisonNotes(rows) {
		fmt.Fprintln(a.stdout, "- "+n)
	}
	fmt.Fprintln(a.stdout, report.ComparisonLegend)
}
