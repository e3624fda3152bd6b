package main

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

type plannedJSON struct {
	Node    string         `json:"node"`
	Action  string         `json:"action"`
	Because verdict.Reason `json:"because,omitzero"`
	// Verdict is the recorded one where it is reused, else what is certain to come
	// out where that is no pass.
	Verdict string         `json:"verdict,omitempty"`
	If      string         `json:"if,omitempty"`
	Locked  verdict.Reason `json:"locked,omitzero"`
	// Overruled is what a waiver means for the recorded verdict.
	Overruled verdict.Reason          `json:"overruled,omitzero"`
	Launches  []runtime.PlannedLaunch `json:"launches,omitempty"`
	// Least is how many of the launches are made in any case, and Notes what they
	// can show.
	Least int              `json:"least_launches,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Sends is what each of the launches sends.
	Sends *sent `json:"sends,omitempty"`
}

func (a *app) printPreview(p *plans.Plan, preview []runtime.Planned, e estimated) {
	if a.json {
		nodes := []plannedJSON{}
		for _, n := range preview {
			j := plannedJSON{Node: n.Node.ID, Action: string(n.Action), Because: n.Because, Verdict: string(n.Verdict), If: n.If, Locked: n.Locked, Overruled: n.Overruled, Launches: n.Launches, Least: sure(n.Launches), Notes: n.Notes}
			if !n.Locked.IsZero() {
				j.Action = "locked"
			}
			if s := sentBy(p, n.Node); s.Cells > 0 && len(n.Launches) > 0 {
				j.Sends = &s
			}
			nodes = append(nodes, j)
		}
		a.printJSON(map[string]any{"nodes": nodes, "launches": e.launches, "least_launches": e.least, "seconds": e.seconds, "least_seconds": e.leastSeconds, "estimate_from_recorded_launches": e.recorded})
		return
	}
	var rows [][]string
	for _, n := range preview {
		row := previewRow(n)
		if words := sentBy(p, n.Node).words(); words != "" && len(n.Launches) > 0 {
			row[3] += "\n" + words
		}
		for _, note := range tell.Lines(n.Notes) {
			row[3] += "\n" + note
		}
		rows = append(rows, row)
	}
	a.printTable([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.launches == 0:
		fmt.Fprintln(a.stdout, "\nNothing to measure.")
	case e.recorded:
		fmt.Fprintf(a.stdout, "\n%s, about %s from recorded launches, if every gate passes.\n", e.count(), e.time())
	default:
		fmt.Fprintf(a.stdout, "\n%s, if every gate passes. About %s, but some variants were never launched: %d s is assumed for each of theirs, and what rates and durations take.\n", e.count(), e.time(), assumedSeconds)
	}
}

// sure is how many launches are made in any case.
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
		return []string{p.Node.ID, "locked", "", tell.Line(p.Locked)}
	}
	row := []string{p.Node.ID, string(p.Action), "", tell.Line(p.Because)}
	if p.Action == runtime.Redecide && p.Because.Code == code.First {
		row[1] = "decide" // it never was before
	}
	if n := len(p.Launches); n > 0 {
		row[2] = fmt.Sprint(n)
		if least := sure(p.Launches); least < n {
			row[2] = fmt.Sprintf("%d–%d", least, n)
		}
	}
	if p.Action == runtime.Reuse {
		row[3] = fmt.Sprintf("%s, %s%s", p.Verdict, tell.Line(p.Because), behind("; ", tell.Line(p.Overruled)))
	}
	if p.If != "" {
		row[3] += ", if " + p.If
	}
	if p.Action != runtime.Reuse && p.Verdict != "" {
		row[3] += "; comes out " + string(p.Verdict)
	}
	return row
}
