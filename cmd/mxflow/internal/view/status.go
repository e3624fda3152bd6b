package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// StatusJSON is the JSON of status and report, with the tables of results that a plan describes.
func StatusJSON(st *store.Store, p *plans.Plan) map[string]any {
	type comparison struct {
		Node   string        `json:"node"`
		Tables []report.Grid `json:"tables"`
	}
	sheet, comparisons := report.SheetOf(st, p), []comparison{}
	for _, d := range report.DecisionsInForce(st) {
		if len(d.Rows) > 0 {
			comparisons = append(comparisons, comparison{d.Node, sheet.Rows(d.Decision)})
		}
	}
	return map[string]any{
		"results": sheet.Results(), "comparisons": comparisons,

		"runs": st.Runs(), "decisions": report.DecisionsInForce(st), "locked": report.Locked(st),
		"overruled": report.OverruledNow(st, time.Now()),
		"waivers":   st.Waivers(), "stack": report.AcceptedStack(st), "stack_against_baseline": report.EndsOf(st),
		"targets":    report.Contests(st),
		"hypotheses": report.Claims(st), "undecided": report.Undecided(st), "not_in_plan": report.Gone(st),
	}
}

// Status prints where a plan is: a row for each step, feature and gate, what people
// overruled, the accepted stack and the targets.
func Status(on table.Screen, st *store.Store) {
	now := time.Now()
	overruled := report.OverruledNow(st, now)
	on.Table([]string{"node", "verdict", "why"}, statusRows(st, on.Lines, overruled, now))
	var lines []string
	for _, o := range overruled {
		if o.State != "" {
			lines = append(lines, attemptLine(o.Node, o.Verdict, o.Attempt, o.Reasons))
		}
	}
	for _, d := range report.DecisionsInForce(st) {
		if tries := d.Tries(); len(tries) > 0 {
			lines = append(lines, attemptLine(d.Node, d.Verdict, d.Attempt, tries))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(on, "\n%s\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintln(on)
	stackLines(on, st)
	contests, rows := report.Contests(st), [][]string(nil)
	for _, c := range contests {
		measured := c.Note.String()
		if c.Mean != nil && c.Ratio != nil {
			measured = fmt.Sprintf("%s, %s", verdict.Digits(*c.Mean, c.Unit, -1), verdict.Digits(*c.Ratio, "times", -1))
		}
		rows = append(rows,
			[]string{c.Name, cmp.Or(c.Address, c.Path), verdict.Number(c.Value, c.Unit), measured, c.Standing})
	}
	if len(rows) > 0 {
		fmt.Fprintln(on)
		on.Table([]string{"target", "metric", "to beat", "measured", ""}, rows)
		on.Sentence("Targets were measured elsewhere; that both tools measure the same is the plan's claim.")
	}
}

func attemptLine(node string, v verdict.Verdict, attempt int, reasons []verdict.Reason) string {
	return fmt.Sprintf("%s %s (attempt %d): %s", node, verdict.Did(v), attempt, verdict.Semicolons(reasons))
}

// statusRows are the baseline, steps, features and gates. If a plan has more nodes than a
// screen has lines, passed steps are only counted.
func statusRows(st *store.Store, most int, overruled []report.Overruled, now time.Time) (rows [][]string) {
	all, passed := report.Rows(st), 0
	for _, r := range all {
		d := r.Decided
		if measures(r.Node) {
			continue
		}
		if len(all) > most && d != nil && d.Kind == ledger.KindStep && d.Verdict == verdict.Pass && !r.Gone {
			passed++
			continue
		}
		row := []string{nodeName(r.Node), "–", "not decided yet"}
		switch {
		case r.Gone:
			row[1], row[2] = decidedWord(d.Decision, report.OverruledOf(d.Decision, st.Waiver(d.Node), now)),
				"no longer in the plan"
		case !r.Locked.IsZero():
			row[1], row[2] = outcome.Locked(r.Locked), r.Locked.String()
			if r.Locked.Kind == code.Outcome.Kind && slices.ContainsFunc(overruled, func(o report.Overruled) bool {
				return o.State == "waived" && o.Node == r.Locked.Subject
			}) {
				row[2] += ", waived since: the next apply continues past it"
			}
		case d != nil:
			o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
			row[1], row[2] = decidedWord(d.Decision, o), o.Note()
			if row[2] == "" {
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

// verdictWord is what a decision came to in a word: a feature in the stack is accepted.
func verdictWord(d *ledger.Decision) string {
	if d.Accepted && d.Verdict.Unlocks() && d.Kind == ledger.KindFeature {
		return "accepted"
	}
	return string(d.Verdict)
}

// decidedWord is verdictWord with what people did about it: "fail, waived".
func decidedWord(d *ledger.Decision, o report.Overruled) string {
	return strings.Replace(o.Word(), string(d.Verdict), verdictWord(d), 1)
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
	lines = append(lines, report.Caveats(d)...)
	if h := d.Hypothesis; h != nil && h.Outcome != "" {
		text := fmt.Sprintf("expected %s %s: %s", h.Metric, h.Expect, h.Outcome)
		if h.PostHoc {
			text += " (POST HOC)"
		}
		lines = append(lines, text)
	}
	return lines
}

// stackLines print the accepted stack: what it gains, and the knob values.
func stackLines(on table.Screen, st *store.Store) {
	s := report.AcceptedStack(st)
	if len(s.Features) == 0 {
		fmt.Fprintln(on, "accepted stack: empty (the baseline)")
		return
	}
	fmt.Fprintf(on, "accepted stack: %s\n", s.Sum())
	ends := report.EndsOf(st)
	if total := ends.Total(st); total != "" {
		on.Sentence(total)
	}
	if ends.Command != "" {
		fmt.Fprintf(on, "%s\n  %s\n", report.Apart, ends.Command)
	}
	if len(s.Knobs) > 0 {
		on.Sentence(fmt.Sprintf("knobs: %s", verdict.Pairs(s.Knobs, " = ", ", ")))
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
		text = fmt.Sprintf("the last run, %s, did not finish (killed?): apply resumes it", last.ID)
	}
	if w.Held {
		text += "\nanother process is using this state directory" + who
	}
	return text
}
