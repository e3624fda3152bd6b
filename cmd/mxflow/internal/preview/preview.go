// Package preview shows what an apply would do, in order, and about how long it takes. It
// chooses nothing: runtime.Runner does.
package preview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

// Changes lists what changed, with the previous value, and that it causes launches.
func Changes(on table.Screen, changes []plans.Difference, measures bool) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(on, "changed since the last apply:")
	for _, c := range changes {
		line := "~ " + c.Path + " " + c.Was + " -> " + c.Is
		switch {
		case c.Was == "":
			line = "+ " + c.Path + verdict.Behind(" = ", strings.TrimSuffix(c.Is, "{…}"))
		case c.Is == "":
			line = "- " + c.Path
		}
		if c.Measured && measures {
			line += "  # forces measuring"
		}
		fmt.Fprintln(on, "  "+line)
	}
	fmt.Fprintln(on)
}

// Planned is a node for programs.
type Planned struct {
	Node    string         `json:"node"`
	Action  string         `json:"action"`
	Because verdict.Reason `json:"because,omitzero"`
	// Verdict is the recorded one if it is reused, else the certain outcome if that is
	// not a pass.
	Verdict string         `json:"verdict,omitempty"`
	If      string         `json:"if,omitempty"`
	Locked  verdict.Reason `json:"locked,omitzero"`
	// Overruled is the effect of a waiver on the recorded verdict.
	Overruled verdict.Reason          `json:"overruled,omitzero"`
	Launches  []runtime.PlannedLaunch `json:"launches,omitempty"`
	// Least is the minimum of launches, and Notes what they can show.
	Least int              `json:"least_launches,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Sends is what each launch sends.
	Sends *apply.Sent `json:"sends,omitempty"`
}

// JSON is a node of a preview for programs.
func JSON(p *plans.Plan, n runtime.Planned) Planned {
	j := Planned{Node: n.Node.ID, Action: string(n.Action), Because: n.Because, Verdict: string(n.Verdict), If: n.If, Locked: n.Locked, Overruled: n.Overruled, Launches: n.Launches, Least: sure(n.Launches), Notes: n.Notes}
	if !n.Locked.IsZero() {
		j.Action = "locked"
	}
	if s := apply.SentBy(p, n.Node); s.Cells > 0 && len(n.Launches) > 0 {
		j.Sends = &s
	}
	return j
}

// All is a preview for programs.
func All(p *plans.Plan, preview []runtime.Planned, e apply.Estimate, changes []plans.Difference) map[string]any {
	nodes := []Planned{}
	for _, n := range preview {
		nodes = append(nodes, JSON(p, n))
	}
	return map[string]any{"changed": append([]plans.Difference{}, changes...), "nodes": nodes, "launches": e.Launches, "least_launches": e.Least, "seconds": e.High, "least_seconds": e.Low, "seconds_on_one_place": e.OneHigh, "least_seconds_on_one_place": e.OneLow, "estimate_from_recorded_launches": e.High > 0 || e.Launches == 0}
}

// Print prints a preview. If it has more nodes than half a screen has lines, the kept
// ones are only counted.
func Print(on table.Screen, p *plans.Plan, preview []runtime.Planned, e apply.Estimate, changes []plans.Difference) {
	Changes(on, changes, slices.ContainsFunc(preview, func(n runtime.Planned) bool { return n.Why == runtime.MeasurementChanged }))
	var rows [][]string
	kept, most := 0, on.Lines
	for _, n := range preview {
		row := previewRow(n)
		if len(preview) > most/2 && n.Action == runtime.Reuse && n.Locked.IsZero() && n.Why == runtime.Unchanged && n.Overruled.IsZero() && n.Verdict.Unlocks() {
			kept++
			continue
		}
		if words := sendingWords(apply.SentBy(p, n.Node)); words != "" && len(n.Launches) > 0 {
			row[3] += "\n" + words
		}
		for _, note := range verdict.Lines(n.Notes) {
			row[3] += "\n" + note
		}
		rows = append(rows, row)
	}
	if kept > 0 {
		rows = append(rows, []string{verdict.Count(kept, "node"), string(runtime.Reuse), "", "pass, unchanged"})
	}
	on.Table([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.Launches == 0:
		fmt.Fprintln(on, "\nNothing to measure.")
	default:
		fmt.Fprintln(on, "\n"+launchCount(e)+" if every gate passes"+takes(e)+onOne(e))
	}
}

// takes is how long an estimate's launches take, as the end of a sentence.
func takes(e apply.Estimate) string {
	switch {
	case e.High > 0:
		return ": " + verdict.Between(e.Low, e.High) + ", going by recorded launches."
	case e.Low > 0:
		return ": at least " + verdict.Rough(e.Low) + ", the rest unknown until the first launch under this load."
	}
	return "; time unknown until the first launch."
}

// onOne is how long they take on one place, where the plan has several and uses them.
func onOne(e apply.Estimate) string {
	if e.OneHigh == 0 || e.OneHigh == e.High {
		return ""
	}
	return " On one place: " + verdict.Between(e.OneLow, e.OneHigh) + "."
}

// sure is the minimum of launches.
func sure(launches []runtime.PlannedLaunch) (n int) {
	for _, l := range launches {
		if l.Sure {
			n++
		}
	}
	return n
}

func previewRow(p runtime.Planned) []string {
	if !p.Locked.IsZero() {
		return []string{p.Node.ID, outcome.Locked(p.Locked), "", p.Locked.String()}
	}
	row := []string{p.Node.ID, string(p.Action), "", p.Because.String()}
	if p.Action == runtime.Redecide && p.Why == runtime.First {
		row[1] = "decide" // it never was before
	}
	if p.Why == runtime.RulesRelaxed {
		row[1] = "re-measure"
	}
	if n := len(p.Launches); n > 0 {
		row[2] = fmt.Sprint(n)
		if least := sure(p.Launches); least < n {
			row[2] = fmt.Sprintf("%d–%d", least, n)
		}
	}
	if p.Action == runtime.Reuse {
		row[3] = fmt.Sprintf("%s, %s%s", p.Verdict, p.Because.String(), verdict.Behind("; ", p.Overruled.String()))
	}
	if p.If != "" {
		row[3] += ", if " + p.If
	}
	if p.Action != runtime.Reuse && p.Verdict != "" {
		row[3] += "; comes out " + string(p.Verdict)
	}
	return row
}

// launchCount is the number of launches, "8 to 16 launches" if rules decide over some.
func launchCount(e apply.Estimate) string {
	if e.Least < e.Launches {
		return fmt.Sprintf("%d to %s", e.Least, verdict.Count(e.Launches, "launch"))
	}
	return verdict.Count(e.Launches, "launch")
}

// sendingWords describe what a launch sends; empty for a single cell without a pace.
func sendingWords(s apply.Sent) string {
	if s.Cells < 2 && s.Seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, up to %s per launch", verdict.Count(s.Cells, "cell"), verdict.Count(s.Requests, "request"))
	if s.Seconds >= 1 {
		text += fmt.Sprintf(", %s by rates and durations", verdict.Rough(s.Seconds))
	}
	return text
}
