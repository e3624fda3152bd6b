package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Status prints where a plan is: a row for each step, feature and gate, what people
// overruled, the accepted stack and the targets; with all, the evidence of each port.
func Status(on table.Screen, s *report.Summary, all bool) {
	on.Below([]string{"node", "verdict", "why"}, statusRows(s))
	for i, r := range s.Rows {
		if i == 0 && all {
			fmt.Fprintln(on)
		}
		if !all || !r.InForce() {
			continue
		}
		for _, proof := range report.Proofs(s.Store, r.Decided.Decision) {
			on.Sentence(nodeName(r.Node) + ": " + verdict.Stopped(proof))
		}
	}
	var lines []string
	for _, r := range s.Rows {
		if r.InForce() && r.Overruled.State != "" {
			lines = append(lines, waivedLine(r))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(on, "\n%s\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintln(on)
	stackLines(on, s)
	if blocks := slices.Concat(s.ReproductionBlocks(), s.TargetBlocks(), s.NightBlocks(14)); len(blocks) > 0 {
		fmt.Fprintln(on)
		printBlocks(on, blocks)
	}
}

// waivedLine is what people decided about a row.
func waivedLine(r report.Row) string {
	d := r.Decided
	return fmt.Sprintf("%s %s (attempt %d): %s", d.Node, verdict.Did(d.Verdict), d.Attempt,
		verdict.Semicolons(r.Overruled.Reasons))
}

// pageRows is how many rows of a table are seen at once: of more, what passed is only counted.
const pageRows = 24

// statusRows are the baseline, steps, features and gates.
func statusRows(s *report.Summary) (rows [][]string) {
	passed := 0
	for _, r := range s.Rows {
		d := r.Decided
		if measures(r.Node) {
			continue
		}
		if len(s.Rows) > pageRows && r.InForce() && d.Kind == ledger.KindStep && d.Verdict == verdict.Pass {
			passed++
			continue
		}
		row := []string{nodeName(r.Node), r.Word(), ""}
		switch {
		case r.Gone:
			row[2] = "no longer in the plan"
		case !r.Locked.IsZero():
			row[2] = r.Locked.String()
			if r.Locked.Kind == code.Outcome.Kind && s.Rows.At(r.Locked.Subject).Overruled.State == report.Waived {
				row[2] += ", waived since: the next apply continues past it"
			}
		case d != nil:
			if row[2] = r.Overruled.Note(); row[2] == "" {
				row[2] = strings.Join(briefly(d.Decision), "\n")
			}
		}
		rows = append(rows, row)
	}
	if passed > 0 {
		rows = append(rows, []string{"and " + verdict.Count(passed, "step"), string(verdict.Pass)})
	}
	return rows
}

// briefly is why a node's outcome is what it is, and what became of its hypothesis. A gate
// that passed repeats its features.
func briefly(d *ledger.Decision) (lines []string) {
	switch text := report.Brief(d); {
	case len(d.Rows) > 0 && d.Verdict == verdict.Pass:
		lines = report.Best(d.Rows)
		for _, r := range d.Rows {
			if r.Verdict != verdict.Pass {
				lines = append(lines, fmt.Sprintf("%s %s: %s", r.Name, verdict.Did(r.Verdict), verdict.Root(r.Why)))
			}
		}
	case text != "" && (d.Verdict != verdict.Pass || d.Kind == ledger.KindFeature):
		lines = append(lines, text)
	}
	lines = append(lines, verdict.Lines(d.Marks())...)
	if h := d.Hypothesis; h != nil && h.Outcome != "" {
		lines = append(lines, report.Expected(h))
	}
	return lines
}

// stackLines print the accepted stack: what it gains, and the knob values.
func stackLines(on table.Screen, s *report.Summary) {
	if len(s.Stack.Features) == 0 {
		fmt.Fprintln(on, "accepted stack: empty (the baseline)")
		return
	}
	fmt.Fprintf(on, "accepted stack: %s\n", s.Stack.Sum())
	if total := s.Total(); total != "" {
		on.Sentence(total)
	}
	if s.Ends.Command != "" {
		fmt.Fprintf(on, "%s\n  %s\n", report.Apart, s.Ends.Command)
	}
	if len(s.Stack.Knobs) > 0 {
		on.Sentence(fmt.Sprintf("knobs: %s", verdict.Pairs(s.Stack.Knobs, " = ", ", ")))
	}
}

// Work is the state of the newest run, for after its plan's name.
func Work(w report.Work, last ledger.RunInfo) string {
	who := ""
	if w.Holder != nil {
		who = fmt.Sprintf(" (process %d on %s, since %s)", w.Holder.PID, w.Holder.Host,
			verdict.Second(w.Holder.Started))
	}
	text := fmt.Sprintf("last run %s %s, exit status %d", last.ID, last.Reason.String(), last.Exit)
	if last.Exit == verdict.ExitBroken && !last.Reason.AnyOf(code.Finished) {
		text = fmt.Sprintf("last run %s stopped, exit status %d: %s", last.ID, last.Exit, last.Reason.String())
	}
	switch w.State {
	case report.UnderWay:
		return fmt.Sprintf("run %s is under way%s", last.ID, who)
	case report.Unknown:
		text = fmt.Sprintf("the last run, %s, has no end on record: it is still running or was killed; this machine "+
			"cannot tell which", last.ID)
		if w.Held {
			return text + "\na process is using this state directory" + who
		}
	case report.Killed:
		text = fmt.Sprintf("the last run, %s, did not finish (killed?): the same command resumes it", last.ID)
	}
	if w.Held {
		text += "\nanother process is using this state directory" + who
	}
	return text
}

// printBlocks prints tables with what belongs to them, each below its title if it has one.
func printBlocks(on table.Screen, blocks []report.Block) {
	for i, b := range blocks {
		if i > 0 {
			fmt.Fprintln(on)
		}
		if b.Title != "" {
			fmt.Fprintf(on, "%s:\n", b.Title)
		}
		if len(b.Rows) > 0 {
			on.Table(b.Head, b.Rows)
		}
		for _, n := range b.Notes {
			if len(b.Notes) > 1 {
				n = "- " + n
			}
			on.Sentence(n)
		}
	}
}
