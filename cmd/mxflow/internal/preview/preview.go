// Package preview shows what an apply would do, in order, and about how long it takes. It
// decides nothing: runtime.Runner does.
package preview

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

// Changes lists what changed, with the previous value.
func Changes(on table.Screen, changes []plans.Difference) {
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
		fmt.Fprintln(on, "  "+line)
	}
	fmt.Fprintln(on)
}

// Planned is a node for programs.
type Planned struct {
	Node    string         `json:"node"`
	Action  string         `json:"action"`
	Because verdict.Reason `json:"because,omitzero"`
	// Verdict is the recorded one if it is reused, else the outcome if that is certain.
	Verdict string         `json:"verdict,omitempty"`
	If      string         `json:"if,omitempty"`
	Locked  verdict.Reason `json:"locked,omitzero"`
	// Overruled is the effect of a waiver on the recorded verdict.
	Overruled verdict.Reason   `json:"overruled,omitzero"`
	Launches  []runtime.Launch `json:"launches,omitempty"`
	// Least is the minimum of launches, and Notes what they can show.
	Least int              `json:"least_launches,omitempty"`
	Notes []verdict.Reason `json:"notes,omitempty"`
	// Sends is what each launch sends.
	Sends *apply.SentLoad `json:"sends,omitempty"`
}

// JSON is a node of a preview for programs.
func JSON(p *plans.Plan, st *runtime.State) Planned {
	j := Planned{
		Node: st.Node.ID, Action: Action(st), Because: st.Why, If: st.If, Locked: st.Locked, Overruled: st.Overruled,
		Launches: st.Launches, Least: sure(st.Launches), Notes: st.Notes,
	}
	if st.Decision != nil {
		j.Verdict = string(st.Decision.Verdict)
	}
	if s := apply.SentLoadOf(p, st.Node); s.Cells > 0 && len(st.Launches) > 0 {
		j.Sends = &s
	}
	return j
}

// Action is what an apply would do with a node: keep what is recorded, decide it by what is
// or will be on record, or do its work.
func Action(st *runtime.State) string {
	switch {
	case !st.Locked.IsZero():
		return "locked"
	case st.Recorded:
		return "reuse"
	case st.HasWork():
		return "measure"
	}
	return "decide"
}

// All is a preview for programs.
func All(p *plans.Plan, states []*runtime.State, e apply.Estimate, changes []plans.Difference) map[string]any {
	nodes := []Planned{}
	for _, st := range states {
		nodes = append(nodes, JSON(p, st))
	}
	return map[string]any{"changed": append([]plans.Difference{}, changes...), "nodes": nodes, "launches": e.Launches, "least_launches": e.Least, "seconds": e.High, "least_seconds": e.Low, "seconds_on_one_place": e.OneHigh, "least_seconds_on_one_place": e.OneLow, "estimate_from_recorded_launches": e.High > 0 || e.Launches == 0}
}

// Print prints a preview. If it has more nodes than half a screen has lines, the kept
// ones are only counted.
func Print(on table.Screen, p *plans.Plan, states []*runtime.State, e apply.Estimate, changes []plans.Difference) {
	Changes(on, changes)
	var rows [][]string
	kept, most := 0, on.Lines
	for _, st := range states {
		if len(states) > most/2 && st.Recorded && st.Overruled.IsZero() && st.Decision.Verdict.Unlocks() {
			kept++
			continue
		}
		row := []string{st.Node.ID, Action(st), "", why(st)}
		if !st.Locked.IsZero() {
			row[1] = outcome.Locked(st.Locked)
		}
		if n := len(st.Launches); n > 0 {
			row[2] = fmt.Sprint(n)
			if least := sure(st.Launches); least < n {
				row[2] = fmt.Sprintf("%d–%d", least, n)
			}
			if words := sendingWords(apply.SentLoadOf(p, st.Node)); words != "" {
				row[3] += "\n" + words
			}
		}
		for _, note := range verdict.Lines(st.Notes) {
			row[3] += "\n" + note
		}
		rows = append(rows, row)
	}
	if kept > 0 {
		rows = append(rows, []string{verdict.Count(kept, "node"), "reuse", "", "pass, unchanged"})
	}
	on.Table([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.Launches == 0:
		fmt.Fprintln(on, "\nNothing to measure.")
	default:
		fmt.Fprintln(on, "\n"+launchCount(e)+" if every gate passes"+takes(e)+onOne(e))
	}
}

// why is why an apply would do it.
func why(st *runtime.State) string {
	if !st.Locked.IsZero() {
		return st.Locked.String()
	}
	text := st.Why.String()
	switch d := st.Decision; {
	case st.Recorded:
		text = string(d.Verdict) + ", unchanged"
		switch {
		case d.Retracted():
			text = string(d.Verdict) + ", retracted"
		case !st.Why.IsZero():
			text = string(d.Verdict) + ", " + st.Why.String()
		}
		return text + verdict.Behind("; ", st.Overruled.String())
	case st.If != "":
		text += ", if " + st.If
	}
	if st.Decision != nil {
		text += "; comes out " + string(st.Decision.Verdict)
	}
	return text
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
func sure(launches []runtime.Launch) (n int) {
	for _, l := range launches {
		if l.Sure {
			n++
		}
	}
	return n
}

// launchCount is the number of launches, "8 to 16 launches" if rules decide over some.
func launchCount(e apply.Estimate) string {
	if e.Least < e.Launches {
		return fmt.Sprintf("%d to %s", e.Least, verdict.Count(e.Launches, "launch"))
	}
	return verdict.Count(e.Launches, "launch")
}

// sendingWords describe what a launch sends; empty for a single cell without a pace.
func sendingWords(s apply.SentLoad) string {
	if s.Cells < 2 && s.Seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, up to %s per launch", verdict.Count(s.Cells, "cell"), verdict.Count(s.Requests, "request"))
	if s.Seconds >= 1 {
		text += fmt.Sprintf(", %s by rates and durations", verdict.Rough(s.Seconds))
	}
	return text
}
