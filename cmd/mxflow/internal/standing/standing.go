// Package standing prints the status of a state directory: the current run, what was
// decided and what was accepted. It needs no plan, and decides nothing.
package standing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Again prints which decisions are not the first try.
func Again(on table.Screen, st *store.Store) {
	said := false
	for _, d := range report.Standing(st) {
		if again := d.Tries(); len(again) > 0 {
			if !said {
				fmt.Fprintln(on)
				said = true
			}
			fmt.Fprintf(on, "%s %s (attempt %d): %s\n", d.Node, verdict.Did(d.Verdict), d.Attempt, verdict.Semicolons(again))
		}
	}
}

// Rows is what people decide by: baseline, steps, features and gates. If a plan has more
// nodes than a screen has lines, passed steps are only counted.
func Rows(st *store.Store, most int) [][]string {
	var rows [][]string
	now := time.Now()
	var waived []string
	for _, o := range report.OverruledNow(st, now) {
		if o.State == "waived" {
			waived = append(waived, o.Node)
		}
	}
	all, passed := report.Rows(st), 0
	for _, r := range all {
		if Measures(r.Node) {
			continue
		}
		if d := r.Decided; len(all) > most && d != nil && d.Kind == ledger.KindStep && d.Verdict == verdict.Pass && !r.Gone {
			passed++
			continue
		}
		row := []string{r.Phase, r.Node, "–", "not decided yet", ""}
		switch d := r.Decided; {
		case !r.Locked.IsZero():
			row[2], row[3] = outcome.Locked(r.Locked), r.Locked.String()
			if r.Locked.Kind == code.Outcome.Kind && slices.Contains(waived, r.Locked.Subject) {
				row[3] += ", waived since: the next apply continues past it"
			}
		case d != nil:
			o := report.OverruledOf(d.Decision, st.Waiver(d.Node), now)
			row[2], row[3], row[4] = o.Word(), o.Note(), verdict.Minute(d.Time)
			if row[3] == "" && d.Accepted {
				row[3] = "accepted" + chosenWord(d.Decision)
			}
		}
		if r.Gone {
			row[3] = "no longer in the plan"
		}
		rows = append(rows, row)
	}
	if passed > 0 {
		rows = append(rows, []string{"", "and " + verdict.Count(passed, "step"), string(verdict.Pass)})
	}
	return rows
}

// chosenWord names the alternative chosen by a feature.
func chosenWord(d *ledger.Decision) string {
	for _, alt := range d.Alternatives {
		if alt.Chosen {
			return ": " + alt.Name
		}
	}
	return ""
}

// Measures reports whether a node only measures what another one decides.
func Measures(node string) bool {
	name := runtime.CandidateOf(node)
	return node == runtime.QualifyID(name) || node == runtime.BenchmarkID(name)
}

// JSON is the JSON of status and report.
func JSON(st *store.Store) map[string]any {
	return map[string]any{
		"runs": st.Runs(), "decisions": report.Standing(st), "locked": report.Locked(st), "overruled": report.OverruledNow(st, time.Now()), "waivers": st.Waivers(),
		"stack": report.AcceptedStack(st), "stack_against_baseline": report.EndsOf(st), "targets": report.Contests(st), "hypotheses": report.Claims(st),
		"undecided": report.Undecided(st), "not_in_plan": report.Gone(st),
	}
}

// Stack prints what was accepted, the targets it beats, and the outcomes of hypotheses.
func Stack(on table.Screen, st *store.Store) {
	s := report.AcceptedStack(st)
	if len(s.Features) == 0 {
		fmt.Fprintln(on, "\naccepted stack: empty (the baseline)")
	} else {
		fmt.Fprintf(on, "\naccepted stack: %s\n\n", s.Sum())
		for i, f := range s.Features { // the other criteria that it met are in the report
			s.Features[i].Reasons = f.Reasons[:min(1, len(f.Reasons))]
		}
		reportTable(on, report.StackTable(s, verdict.Minute))
		if len(s.Knobs) > 0 {
			if ends := report.EndsOf(st); ends.Command != "" {
				fmt.Fprintf(on, "\n%s\n  %s\n", report.Apart, ends.Command)
			}
			fmt.Fprintf(on, "\nknobs: %s\nReproduce it with mxflow env accepted.\n", verdict.Pairs(s.Knobs, " = ", ", "))
		}
	}
	contests, claims := report.Contests(st), report.Claims(st)
	if len(contests) > 0 {
		fmt.Fprintln(on)
		reportTable(on, report.ContestTable(contests), report.ContestNotes(contests)...)
	}
	if len(claims) > 0 {
		fmt.Fprintln(on)
		reportTable(on, report.ClaimTable(claims), report.ClaimNotes(claims)...)
	}
}

// reportTable prints a table of the report with a terminal's heads, and notes.
func reportTable(on table.Screen, t report.Table, notes ...string) {
	heads := make([]string, len(t.Head))
	for i, h := range t.Head {
		heads[i] = strings.ToLower(h[:1]) + h[1:]
	}
	on.Table(heads, t.Rows)
	for _, n := range notes {
		fmt.Fprintln(on, n)
	}
}

// Work is the state of the newest run, for after its plan's name.
func Work(w report.Work, last store.RunInfo) string {
	text := fmt.Sprintf("last run %s %s, exit status %d", last.ID, last.Reason.String(), last.Exit)
	switch w.State {
	case report.UnderWay:
		return fmt.Sprintf("run %s is under way%s", last.ID, workWho(w))
	case report.Unknown:
		text = fmt.Sprintf("the last run, %s, has no end on record: it is still running or was killed; this machine cannot tell which", last.ID)
	case report.Killed:
		text = fmt.Sprintf("the last run, %s, did not finish (killed?): apply resumes it", last.ID)
	}
	switch {
	case w.Held && w.State == report.Unknown:
		text += "\na process is using this state directory" + workWho(w)
	case w.Held:
		text += "\nanother process is using this state directory" + workWho(w)
	}
	return text
}

func workWho(w report.Work) string {
	if w.Holder == nil {
		return ""
	}
	return fmt.Sprintf(" (process %d on %s, since %s)", w.Holder.PID, w.Holder.Host, verdict.Second(w.Holder.Started))
}

// Overruled prints people's overrides, below the table that marks them.
func Overruled(on table.Screen, all []report.Overruled) {
	said := false
	for _, o := range all {
		if o.State != "" {
			if !said {
				fmt.Fprintln(on)
				said = true
			}
			fmt.Fprintf(on, "%s %s (attempt %d): %s\n", o.Node, verdict.Did(o.Verdict), o.Attempt, verdict.Semicolons(o.Reasons))
		}
	}
}
