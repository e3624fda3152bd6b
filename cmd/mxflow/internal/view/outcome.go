package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/progress"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/steps/apply"
)

// Outcome prints what came of an apply: a row for each feature, for each gate unless many passed,
// and for what else did not pass; what the stack gains, how the run ended and what to do next.
func Outcome(on table.Screen, res *apply.Result, took string) {
	fmt.Fprintln(on)
	if reused := res.Basis.String(); reused != "" {
		fmt.Fprintf(on, "%s\n\n", reused)
	}
	if rows := outcomeRows(res.Summary.Rows); len(rows) > 0 {
		on.Below([]string{"verdict", "decision", "why"}, rows)
	}
	logs(on, res.Summary)
	fmt.Fprintln(on)
	for _, text := range []string{
		report.SummaryOf(res.Store, nil, time.Now()).Total(), closing(res, took), undecided(res),
	} {
		if text != "" {
			on.Sentence(text)
		}
	}
	next(on, res)
}

// mostGates is how many gates that passed have a row each.
const mostGates = 3

// order is that of the rows of an outcome, by the first word of each.
var order = []string{"error", "invalid", "fail", "inconclusive", "accepted", "pass", "locked", "not run"}

// outcomeRows are grouped by verdict, what did not pass first. What one cause locked is one row, and
// so are many gates that passed.
func outcomeRows(states []*runtime.State) (rows [][]string) {
	var passed [][]string
	locked, caveats := map[string][]string{}, map[string]bool{}
	for _, st := range states {
		if !hasRow(st) {
			continue
		}
		row := decidedRow(st, caveats)
		switch d := st.Decision; {
		case d == nil:
			alike := row[0] + row[2]
			if locked[alike] = append(locked[alike], row[1]); len(locked[alike]) > 1 {
				row[1] = report.Few(locked[alike])
				rows = slices.DeleteFunc(rows, func(o []string) bool { return o[0] == row[0] && o[2] == row[2] })
			}
			rows = append(rows, row)
		case runtime.Waivable(st.Node.Kind) && d.Verdict == verdict.Pass && st.Overruled.IsZero():
			passed = append(passed, row)
		default:
			rows = append(rows, row)
		}
	}
	if len(passed) > mostGates {
		var phases []string
		for _, row := range passed {
			_, phase, _ := strings.Cut(row[1], " ")
			phases = append(phases, phase)
		}
		passed = [][]string{{
			string(verdict.Pass), verdict.Count(len(passed), "gate"), strings.Join(phases, ", "),
		}}
	}
	rows = append(rows, passed...)
	slices.SortStableFunc(rows, func(a, b []string) int {
		first, _, _ := strings.Cut(a[0], ",")
		second, _, _ := strings.Cut(b[0], ",")
		return slices.Index(order, first) - slices.Index(order, second)
	})
	return rows
}

// hasRow reports whether an outcome shows a node: not one that measures what another decides, nor
// a phase that failed by what has a row, nor a step that passed.
func hasRow(st *runtime.State) bool {
	n, d := st.Node, st.Decision
	switch n.Kind {
	case runtime.KindBenchmark, runtime.KindCriteria:
		return false
	case runtime.KindQualify:
		if n.ID != runtime.BaselineID {
			return false
		}
	}
	switch {
	case d == nil, n.Kind == runtime.KindFeature, n.Kind == runtime.KindGate:
		return true
	case n.Kind == runtime.KindPhase:
		return d.Verdict == verdict.Pass || !st.Overruled.IsZero()
	}
	return !d.Verdict.Unlocks() || len(d.Rows) > 0
}

// decidedRow is a node's verdict, its name and why, with those caveats that no row before it has.
func decidedRow(st *runtime.State, caveats map[string]bool) []string {
	n, d := st.Node, st.Decision
	if d == nil {
		name := progress.Name(string(n.Kind), n.ID, n.Phase, n.Feature)
		return []string{report.LockedWord(st.Locked), name, st.Locked.String()}
	}
	why := report.Brief(d)
	if !st.Overruled.IsZero() {
		why = st.Overruled.String() + verdict.Behind("; ", why)
	}
	if st.Recorded {
		why = strings.TrimSpace(why + " (reused)")
	}
	for _, caveat := range verdict.Lines(d.Marks()) {
		if !caveats[caveat] {
			caveats[caveat], why = true, why+"\n"+caveat
		}
	}
	return []string{report.Word(d, st.Waiver != nil), progress.Name(d.Kind, d.Node, d.Phase, d.Feature), why}
}

// mostLog is how many lines of a log are shown.
const mostLog = 5

// logs prints the end of the log of what broke in a run, once.
func logs(on table.Screen, s runtime.Summary) {
	printed := ""
	for _, r := range s.Rows {
		if r.Decision == nil || r.Recorded || len(r.Decision.LogTail) == 0 {
			continue
		}
		lines := r.Decision.LogTail[max(0, len(r.Decision.LogTail)-mostLog):]
		if tail := strings.Join(lines, "\n"); tail != printed {
			printed = tail
			fmt.Fprintf(on, "\nThe log of %s ended with:\n", r.Node.ID)
			for _, line := range lines {
				fmt.Fprintln(on, table.Fit("  | "+line, on.Width))
			}
		}
	}
}

// closing is how the run ended, what it took, and the exit status.
func closing(res *apply.Result, took string) string {
	end := res.End
	switch {
	case end.Reason.Kind == code.Interrupted.Kind:
		return fmt.Sprintf("Interrupted after %s. Progress is saved; run apply again to resume.", took)
	case end.Exit == verdict.ExitBroken && end.Reason.Kind != code.Finished.Kind:
		return fmt.Sprintf("Stopped after %s, exit status %d.", took, end.Exit) // the error itself says why
	}
	return fmt.Sprintf("%s (%s). Exit status %d.", gateWords(end.Verdict, res.Summary.Rows), took, end.Exit)
}

// gateWords is the outcome of the gates, most important first: "1 of 9 gates failed, 1 locked".
func gateWords(worst verdict.Verdict, rows []*runtime.State) string {
	all, of, noun := 0, map[string]int{}, "gate"
	for _, r := range rows {
		if !runtime.Waivable(r.Node.Kind) {
			continue
		}
		if all++; r.Node.Kind == runtime.KindPhase {
			noun = "phase" // one without a gate
		}
		switch {
		case r.Locked.Kind == code.NotTargeted.Kind:
			of["not evaluated (--target)"]++
		case r.Decision == nil:
			of["locked"]++
		case r.Waiver != nil:
			of["waived"]++
		default:
			of[string(r.Decision.Verdict)]++
		}
	}
	switch {
	case len(rows) == 0:
		return "Nothing to decide in this plan"
	case worst == verdict.Pass && all == 0:
		return "No gate in this plan: the baseline passed"
	case worst == verdict.Pass:
		return "Every gate passed"
	}
	var parts []string
	for _, what := range []string{
		"error", "invalid", "fail", "inconclusive", "locked",
		"not evaluated (--target)", "waived",
	} {
		if n := of[what]; n > 0 {
			number := fmt.Sprint(n)
			if len(parts) == 0 {
				number += " of " + verdict.Count(all, noun)
			}
			parts = append(parts,
				number+" "+cmp.Or(map[string]string{"error": "in error", "fail": "failed"}[what], what))
		}
	}
	switch text := strings.Join(parts, ", "); {
	case worst == verdict.Waived:
		return "Every gate passed or is waived"
	case text == "":
		return verdict.Capital(string(worst))
	case of[string(worst)] > 0:
		return text
	default:
		return verdict.Capital(string(worst)) + ": " + text
	}
}

// undecided is what would decide the first that is inconclusive; empty if nothing would.
func undecided(res *apply.Result) string {
	for _, r := range res.Summary.Rows {
		d := r.Decision
		if d == nil || d.Verdict != verdict.Inconclusive || r.Node.Kind != runtime.KindFeature &&
			r.Node.Kind != runtime.KindGate {
			continue
		}
		open := func(l ledger.Level) bool { return l.Verdict != verdict.Pass }
		next := decide.Next(d)
		if len(next) > 0 && next[0].Kind == code.NextEvidence.Kind && slices.ContainsFunc(d.Levels, open) {
			return "" // its row has what is missing
		}
		if len(next) > 0 {
			return progress.Name(d.Kind, d.Node, d.Phase, d.Feature) + ": " + verdict.Stopped(next[0])
		}
	}
	return ""
}

// shortName is how a command names a node: a phase or feature by its name, unless both have
// it.
func shortName(n *runtime.Node, rows []*runtime.State) string {
	name := cmp.Or(n.Feature, n.ID)
	if runtime.Waivable(n.Kind) {
		name = n.Phase
	}
	same := 0
	for _, r := range rows {
		if r.Node.ID == runtime.PhaseID(name) || r.Node.ID == runtime.FeatureID(name) {
			same++
		}
	}
	if same > 1 {
		return n.ID
	}
	return name
}

// next prints at most two commands: what explains the first node that did not pass, and where
// the rest is.
func next(on table.Screen, res *apply.Result) {
	list := [][2]string{{on.Command("show", "latest"), "every decision and launch of this run"}}
	switch {
	case res.End.Reason.Kind == code.Interrupted.Kind:
		on.Commands([][2]string{{on.Command("apply"), "resumes"}})
		return
	case res.End.Verdict.Unlocks():
		list = [][2]string{{on.Command("report"), "the page for a team, as Markdown"}}
	}
	i := slices.IndexFunc(res.Summary.Rows, func(r *runtime.State) bool {
		k, d := r.Node.Kind, r.Decision
		internal := k == runtime.KindBenchmark || k == runtime.KindQualify && r.Node.ID != runtime.BaselineID
		return d != nil && !d.Verdict.Unlocks() && r.Waiver == nil && !internal &&
			!(k == runtime.KindStep && res.End.Verdict.Unlocks())
	})
	if i >= 0 {
		name := shortName(res.Summary.Rows[i].Node, res.Summary.Rows)
		if res.Summary.Rows[i].Recorded {
			list[0] = [2]string{on.Command("apply", "--rerun", name), "measures it again"}
		}
		list = append([][2]string{{on.Command("explain", name), "why: data, test, what would change it"}}, list...)
	}
	on.Commands(list)
}
