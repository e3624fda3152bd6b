package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newPlanCommand(a *app) *cobra.Command {
	var vars []load.Given
	var rerun []string
	var suite string
	var onSeen bool
	c := &cobra.Command{
		Use:   "plan PLAN",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows each node of the plan: reuse (the recorded outcome is kept), decide or
re-decide (from recorded launches) or measure, and why; how many launches that takes
and about how long. A rule that was relaxed after its launches were seen is measured
again, unless --on-seen-data lets it decide on them. What depends on a gate that is still open says so. Nothing is
started and nothing is written.`,
		Example: "  mxflow plan plan.hcl\n  mxflow plan --rerun all plan.hcl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, g, err := a.load(args[0], load.Options{Inputs: vars, Suite: suite})
			if err != nil {
				return err
			}
			p := loaded.Plan
			forced, err := apply.Forced(g, rerun, args[0])
			if err != nil {
				return err
			}
			st, err := store.OpenReadOnly(a.stateDir(args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				st, err = nil, nil
			}
			if err != nil {
				return err
			}
			if st != nil {
				defer st.Close()
				if err := apply.SamePlan(st, p); err != nil {
					return err
				}
			}
			lab, err := apply.NewLab(apply.Wiring{Plan: p, Graph: g, Store: st, OnSeenData: onSeen})
			if err != nil {
				return err
			}
			runner := &runtime.Runner{Plan: p, Graph: g, Journal: journalOf(st), Step: lab.Step, Rerun: forced, Hard: c.Context()}
			preview, err := runner.Preview()
			if err != nil {
				return err
			}
			printPreview(a, p, preview, apply.EstimateOf(p, st, preview))
			for _, n := range apply.MachineChanges(st, p) {
				notes{a}.Note(n)
			}
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "as in apply: show what it would measure again")
	onSeenFlag(c, &onSeen)
	a.jsonFlag(c, "print as JSON")
	return c
}

func journalOf(st *store.Store) runtime.Journal {
	if st == nil {
		return runtime.EmptyJournal{}
	}
	return st.Journal()
}

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
	Sends *apply.Sent `json:"sends,omitempty"`
}

func printPreview(a *app, p *plans.Plan, preview []runtime.Planned, e apply.Estimate) {
	if a.json {
		nodes := []plannedJSON{}
		for _, n := range preview {
			j := plannedJSON{Node: n.Node.ID, Action: string(n.Action), Because: n.Because, Verdict: string(n.Verdict), If: n.If, Locked: n.Locked, Overruled: n.Overruled, Launches: n.Launches, Least: sure(n.Launches), Notes: n.Notes}
			if !n.Locked.IsZero() {
				j.Action = "locked"
			}
			if s := apply.SentBy(p, n.Node); s.Cells > 0 && len(n.Launches) > 0 {
				j.Sends = &s
			}
			nodes = append(nodes, j)
		}
		a.printJSON(map[string]any{"nodes": nodes, "launches": e.Launches, "least_launches": e.Least, "seconds": e.Seconds, "least_seconds": e.LeastSeconds, "estimate_from_recorded_launches": e.Recorded})
		return
	}
	var rows [][]string
	for _, n := range preview {
		row := previewRow(n)
		if words := sendingWords(apply.SentBy(p, n.Node)); words != "" && len(n.Launches) > 0 {
			row[3] += "\n" + words
		}
		for _, note := range tell.Lines(n.Notes) {
			row[3] += "\n" + note
		}
		rows = append(rows, row)
	}
	a.printTable([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.Launches == 0:
		fmt.Fprintln(a.stdout, "\nNothing to measure.")
	case e.Recorded:
		fmt.Fprintf(a.stdout, "\n%s, about %s from recorded launches, if every gate passes.\n", launchCount(e), timeOf(e))
	default:
		fmt.Fprintf(a.stdout, "\n%s, if every gate passes. About %s, assuming %d s for each launch of a variant that was never launched.\n", launchCount(e), timeOf(e), apply.AssumedSeconds)
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
	if p.Because.Code == code.Relaxed {
		row[1] = "re-measure"
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

// launchCount is how many launches, "8 to 16 launches" where rules decide over some.
func launchCount(e apply.Estimate) string {
	if e.Least < e.Launches {
		return fmt.Sprintf("%d to %s", e.Least, count(e.Launches, "launch"))
	}
	return count(e.Launches, "launch")
}

func timeOf(e apply.Estimate) string {
	if least, most := rough(e.LeastSeconds), rough(e.Seconds); least != most {
		return least + " to " + most
	}
	return rough(e.Seconds)
}

// sendingWords are what to know of what a launch sends; empty for a single cell without
// a clock.
func sendingWords(s apply.Sent) string {
	if s.Cells < 2 && s.Seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, up to %s a launch", count(s.Cells, "cell"), count(s.Requests, "request"))
	if s.Seconds >= 1 {
		text += fmt.Sprintf(", %s by rates and durations", rough(s.Seconds))
	}
	return text
}
