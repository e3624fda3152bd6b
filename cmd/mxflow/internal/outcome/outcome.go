// Package outcome shows the result of an apply on one screen: what was accepted, rejected,
// locked or not run, by which number, and what to do next. It decides nothing, and starts
// nothing.
package outcome

import (
	"bytes"
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

// Print prints a run: a row for each feature and gate, and for what else did not pass, what
// the stack gains, how the run ended and what to do next. If that is longer than the screen,
// each row has two lines or one, and each verdict as many rows as have room.
func Print(to table.Screen, res *apply.Result, took string) {
	var page bytes.Buffer
	on := to.On(&page)
	fmt.Fprintln(on)
	if reused := res.Basis.String(); reused != "" {
		fmt.Fprintf(on, "%s\n\n", reused)
	}
	rows, top, total := rowsOf(res), page.Len(), report.SummaryOf(res.Store, nil, time.Now()).Total()
	for _, most := range []int{len(rows), 2, 1} {
		page.Truncate(top)
		if len(rows) > 0 {
			on.Table([]string{"verdict", "decision", "why"},
				cells(rows, most, to.Lines, cmp.Or(to.Width, 2*table.MaxColumn)))
		}
		logs(on, res.Summary)
		fmt.Fprintln(on)
		if total != "" {
			on.Sentence(total)
		}
		on.Sentence(closing(res, took))
		if advice := undecided(res); advice != "" {
			on.Sentence(advice)
		}
		next(on, res)
		if bytes.Count(page.Bytes(), []byte("\n")) < to.Lines {
			break
		}
	}
	_, _ = to.Write(page.Bytes())
}

// row is a line of the table.
type row struct{ word, name, why string }

// mostGates is how many gates that passed have a row each.
const mostGates = 3

// rowsOf are grouped by verdict, what did not pass first. What one cause locked is one row, and
// so are many gates that passed.
func rowsOf(res *apply.Result) (rows []row) {
	locked, passed, caveats := map[string]int{}, []string(nil), []string(nil)
	for _, st := range res.Summary.Rows {
		n, d := st.Node, st.Decision
		switch {
		case n.Kind == runtime.KindBenchmark, n.Kind == runtime.KindCriteria, n.Kind == runtime.KindQualify &&
			n.ID != runtime.BaselineID:
		case d == nil:
			name := progress.Name(string(n.Kind), n.ID, n.Phase, n.Feature)
			r := row{report.LockedWord(st.Locked), name, st.Locked.String()}
			if locked[r.word+r.why]++; locked[r.word+r.why] > 1 {
				r.name = verdict.Count(locked[r.word+r.why], "node")
				rows = slices.DeleteFunc(rows, func(o row) bool { return o.word == r.word && o.why == r.why })
			}
			rows = append(rows, r)
		case n.Kind == runtime.KindPhase && d.Verdict != verdict.Pass && st.Overruled.IsZero(): // its cause has a row
		case n.Kind == runtime.KindFeature, runtime.Waivable(n.Kind), !d.Verdict.Unlocks(), len(d.Rows) > 0:
			why := report.Brief(d)
			if !st.Overruled.IsZero() {
				why = st.Overruled.String() + verdict.Behind("; ", why)
			}
			if st.Recorded {
				why = strings.TrimSpace(why + " (reused)")
			}
			for _, caveat := range verdict.Lines(d.Marks()) {
				if !slices.Contains(caveats, caveat) {
					caveats, why = append(caveats, caveat), why+"\n"+caveat
				}
			}
			r := row{report.Word(d, st.Waiver != nil), progress.Name(d.Kind, d.Node, d.Phase, d.Feature), why}
			if rows = append(rows, r); runtime.Waivable(n.Kind) && r.word == string(verdict.Pass) &&
				st.Overruled.IsZero() {
				passed = append(passed, r.name)
			}
		}
	}
	if len(passed) > mostGates {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return r.word == string(verdict.Pass) && slices.Contains(passed, r.name)
		})
		var phases []string
		for _, name := range passed {
			_, phase, _ := strings.Cut(name, " ")
			phases = append(phases, phase)
		}
		rows = append(rows, row{string(verdict.Pass), verdict.Count(len(passed), "gate"), strings.Join(phases, ", ")})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return place(a.word) - place(b.word) })
	return rows
}

// mostName is how much of a name a row of one line shows.
const mostName = 24

// aroundRows is how many lines a screen needs beside its rows.
const aroundRows = 10

// cells are the rows of a table on a screen, each of at most so many lines; of one line, no more
// of each verdict than have room.
func cells(rows []row, each, lines, width int) (out [][]string) {
	of, made := map[string]int{}, map[string]int{}
	for _, r := range rows {
		of[r.word]++
	}
	most, words, names := len(rows), 0, 0
	if each == 1 && len(rows) > lines-aroundRows {
		most = max(1, (lines-aroundRows)/max(1, len(of))-1)
	}
	for _, r := range rows {
		if each <= 2 {
			r.name = table.Fit(r.name, mostName)
		}
		switch made[r.word]++; {
		case made[r.word] <= most:
			out = append(out, []string{r.word, r.name, r.why})
			words, names = max(words, len(r.word)), max(names, len(r.name))
		case made[r.word] == most+1:
			out = append(out, []string{r.word, fmt.Sprintf("and %d more", of[r.word]-most), ""})
		}
	}
	for _, cell := range out {
		room := max(table.LeastColumn, width-words-names-5)
		if text := strings.Split(table.Wrap(cell[2], room), "\n"); len(text) > each {
			cell[2] = strings.Join(text[:each-1], "\n") + "\n" + table.Fit(strings.Join(text[each-1:], " "), room)
			cell[2] = strings.TrimPrefix(cell[2], "\n")
		}
	}
	return out
}

// order is that of the groups, by the first word of each.
var order = []string{"error", "invalid", "fail", "inconclusive", "accepted", "pass", "locked", "not run"}

func place(word string) int {
	word, _, _ = strings.Cut(word, ",")
	return slices.Index(order, word)
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
	return fmt.Sprintf("%s (%s). Exit status %d.", gates(end.Verdict, res.Summary.Rows), took, end.Exit)
}

// gates is the outcome of the gates, most important first: "1 of 9 gates failed, 1 locked".
func gates(worst verdict.Verdict, rows []*runtime.State) string {
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
