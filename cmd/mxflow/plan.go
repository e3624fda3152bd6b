package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
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
	var rerun, target []string
	var suite, out string
	var onSeen, detailed bool
	c := &cobra.Command{
		Use:   "plan [PLAN]",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows each node of PLAN, or of the plan of this folder: reuse (the recorded outcome is kept), decide or
re-decide (from recorded launches) or measure, and why; how many launches that takes
and about how long. A rule that was relaxed after its launches were seen is measured
again, unless --on-seen-data lets it decide on them. What depends on a gate that is still open says so. What the plan has other than the last apply had stands first. With
--out it is written to a file for apply, which refuses where something moved since.
Nothing is started and nothing else is written.`,
		Example: "  mxflow plan plan.hcl\n  mxflow plan --rerun all plan.hcl\n  mxflow plan --detailed-exitcode plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a.fold()
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			loaded, g, err := a.load(path, load.Options{Inputs: vars, Suite: suite})
			if err != nil {
				return err
			}
			p := loaded.Plan
			forced, targets, err := apply.Named(g, rerun, target)
			if err != nil {
				return err
			}
			st, err := store.OpenReadOnly(a.stateDir(path))
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
			runner := &runtime.Runner{Plan: p, Graph: g, Journal: journalOf(st), Step: lab.Step, Rerun: forced, Target: targets, Hard: c.Context()}
			preview, err := runner.Preview()
			if err != nil {
				return err
			}
			printPreview(a, p, preview, apply.EstimateOf(p, apply.KnownTo(st), preview), changesOf(st, p, vars))
			if out != "" {
				r := &reviewed{Plan: path, State: a.stateDir(path), Suite: suite, Rerun: rerun, Target: target, OnSeen: onSeen}
				if err := r.write(out, loaded, st, vars, preview); err != nil {
					return err
				}
			}
			if detailed && slices.ContainsFunc(preview, func(n runtime.Planned) bool { return n.Locked.IsZero() && n.Action != runtime.Reuse }) {
				a.exit = exitChanges
			}
			for _, n := range apply.MachineChanges(st, p) {
				a.note(n)
			}
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "as in apply: show what it would measure again")
	c.Flags().StringArrayVar(&target, "target", nil, "as in apply: show what it would leave out")
	onSeenFlag(c, &onSeen)
	c.Flags().StringVar(&out, "out", "", "write what was shown to this `file`, for mxflow apply FILE")
	c.Flags().BoolVar(&detailed, "detailed-exitcode", false, "end with 0 where an apply would keep every outcome, and with 2 where it would not")
	a.jsonFlag(c, "print as JSON")
	return c
}

func journalOf(st *store.Store) runtime.Journal {
	if st == nil {
		return runtime.EmptyJournal{}
	}
	return st.Journal()
}

// exitChanges is how plan --detailed-exitcode says that an apply has something to do.
const exitChanges = 2

// changesOf is what the plan has other than the newest run applied; nothing where that
// cannot be told.
func changesOf(st *store.Store, p *plans.Plan, vars []load.Given) []plans.Difference {
	if st == nil || len(st.Runs()) == 0 {
		return nil
	}
	run := st.Runs()[len(st.Runs())-1].ID
	if view, err := st.Run(run); err != nil || view.Start == nil || view.Start.PlanDigest == p.Digest() {
		return nil
	}
	was := newReplay(st, replayFlags{vars: vars}).Plan(run)
	if was == nil {
		return nil
	}
	return p.Differences(was)
}

// printChanges lists what changed: with how it was, and that launches are made for it.
func printChanges(a *app, changes []plans.Difference, measures bool) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, "changed since the last apply:")
	for _, c := range changes {
		line := "~ " + c.Path + " " + c.Was + " -> " + c.Is
		switch {
		case c.Was == "":
			line = "+ " + c.Path + tell.Behind(" = ", strings.TrimSuffix(c.Is, "{…}"))
		case c.Is == "":
			line = "- " + c.Path
		}
		if c.Measured && measures {
			line += "  # forces measuring"
		}
		fmt.Fprintln(a.stdout, "  "+line)
	}
	fmt.Fprintln(a.stdout)
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

func plannedJSONOf(p *plans.Plan, n runtime.Planned) plannedJSON {
	j := plannedJSON{Node: n.Node.ID, Action: string(n.Action), Because: n.Because, Verdict: string(n.Verdict), If: n.If, Locked: n.Locked, Overruled: n.Overruled, Launches: n.Launches, Least: sure(n.Launches), Notes: n.Notes}
	if !n.Locked.IsZero() {
		j.Action = "locked"
	}
	if s := apply.SentBy(p, n.Node); s.Cells > 0 && len(n.Launches) > 0 {
		j.Sends = &s
	}
	return j
}

func printPreview(a *app, p *plans.Plan, preview []runtime.Planned, e apply.Estimate, changes []plans.Difference) {
	if a.json {
		nodes := []plannedJSON{}
		for _, n := range preview {
			nodes = append(nodes, plannedJSONOf(p, n))
		}
		a.printJSON(map[string]any{"changed": append([]plans.Difference{}, changes...), "nodes": nodes, "launches": e.Launches, "least_launches": e.Least, "seconds": e.High, "least_seconds": e.Low, "side_by_side": sideBySideJSON(e), "estimate_from_recorded_launches": e.High > 0 || e.Launches == 0})
		return
	}
	printChanges(a, changes, slices.ContainsFunc(preview, func(n runtime.Planned) bool { return n.Because.Code == code.MeasurementChanged }))
	var rows [][]string
	kept, most := 0, a.height()
	for _, n := range preview {
		row := previewRow(n)
		if len(preview) > most/2 && n.Action == runtime.Reuse && n.Locked.IsZero() && n.Because.Code == code.Unchanged && n.Overruled.IsZero() && n.Verdict.Unlocks() {
			kept++
			continue
		}
		if words := sendingWords(apply.SentBy(p, n.Node)); words != "" && len(n.Launches) > 0 {
			row[3] += "\n" + words
		}
		for _, note := range tell.Lines(n.Notes) {
			row[3] += "\n" + note
		}
		rows = append(rows, row)
	}
	if kept > 0 {
		rows = append(rows, []string{tell.Count(kept, "node"), string(runtime.Reuse), "", "pass, unchanged"})
	}
	a.printTable([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.Launches == 0:
		fmt.Fprintln(a.stdout, "\nNothing to measure.")
	default:
		fmt.Fprintln(a.stdout, "\n"+launchCount(e)+" if every gate passes"+takes(e)+sideBySide(p, e))
	}
}

// takes is how long the launches of an estimate take, as the end of a sentence.
func takes(e apply.Estimate) string {
	switch {
	case e.High > 0:
		return ": " + tell.Between(e.Low, e.High) + ", judging by recorded launches."
	case e.Low > 0:
		return ": at least " + tell.Rough(e.Low) + ", the rest is unknown until the first launch under this load."
	}
	return "; time unknown until the first launch."
}

// worthPlaces is how many seconds a run takes for which places are worth a word.
const worthPlaces = 600

// sideBySide is how long they take on several places, where the plan has those or the
// run is long.
func sideBySide(p *plans.Plan, e apply.Estimate) string {
	if len(e.SideBySide) == 0 || p.Executor == nil && e.High < worthPlaces {
		return ""
	}
	var with []string
	for _, s := range e.SideBySide {
		with = append(with, fmt.Sprintf("%d: %s", s.Places, tell.Between(s.Low, s.High)))
	}
	return " By places (see executor): " + strings.Join(with, ", ") + "."
}

func sideBySideJSON(e apply.Estimate) []map[string]any {
	out := []map[string]any{}
	for _, s := range e.SideBySide {
		out = append(out, map[string]any{"places": s.Places, "seconds": s.High, "least_seconds": s.Low})
	}
	return out
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
		return []string{p.Node.ID, outcome.Locked(p.Locked), "", tell.Line(p.Locked)}
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
		row[3] = fmt.Sprintf("%s, %s%s", p.Verdict, tell.Line(p.Because), tell.Behind("; ", tell.Line(p.Overruled)))
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
		return fmt.Sprintf("%d to %s", e.Least, tell.Count(e.Launches, "launch"))
	}
	return tell.Count(e.Launches, "launch")
}

// sendingWords are what to know of what a launch sends; empty for a single cell without
// a clock.
func sendingWords(s apply.Sent) string {
	if s.Cells < 2 && s.Seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, up to %s a launch", tell.Count(s.Cells, "cell"), tell.Count(s.Requests, "request"))
	if s.Seconds >= 1 {
		text += fmt.Sprintf(", %s by rates and durations", tell.Rough(s.Seconds))
	}
	return text
}
