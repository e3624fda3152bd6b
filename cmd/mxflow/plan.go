package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/store"
)

// assumedSeconds is what a launch is assumed to take where none was recorded.
const assumedSeconds = 5

func (a *app) planCommand() *cobra.Command {
	var vars []plans.Given
	var rerun []string
	var suite string
	c := &cobra.Command{
		Use:   "plan PLAN",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows each node of the plan: reuse (the recorded outcome is kept), re-decide
(from recorded launches) or measure, and why; how many launches that takes and
about how long. What depends on a gate that is still open says so. Nothing is
started and nothing is written.`,
		Example: "  mxflow plan plan.hcl\n  mxflow plan --rerun all plan.hcl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, g, _, err := a.load(args[0], vars, suite)
			if err != nil {
				return err
			}
			forced, unknown := runtime.RerunNodes(g, p, rerun)
			if len(unknown) > 0 {
				return fmt.Errorf("--rerun %s: there is no such phase, feature or node; see mxflow graph %s", unknown[0], args[0])
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
				if err := samePlan(st, p); err != nil {
					return err
				}
			}
			lab, err := a.lab(p, g, st, "", "")
			if err != nil {
				return err
			}
			runner := &runtime.Runner{Plan: p, Graph: g, Journal: journalOf(st), Step: lab.Step, Rerun: forced, Hard: c.Context()}
			preview, err := runner.Preview()
			if err != nil {
				return err
			}
			a.printPreview(p, preview, estimate(p, st, preview))
			a.machineNotes(st, p)
			return nil
		},
	}
	varFlag(c, &vars)
	suiteFlag(c, &suite)
	c.Flags().StringArrayVar(&rerun, "rerun", nil, "as in apply: show what it would measure again")
	a.jsonFlag(c, "print as JSON")
	return c
}

func journalOf(st *store.Store) runtime.Journal {
	if st == nil {
		return runtime.EmptyJournal{}
	}
	return runtime.StoreJournal(st)
}

// estimated is how much an apply has to do.
type estimated struct {
	launches int
	// perLaunch and seconds are estimates; recorded is false where they rest on
	// no launch at all.
	perLaunch, seconds float64
	recorded           bool
}

// estimate takes recorded launch times, see launchSeconds.
func estimate(p *plans.Plan, st *store.Store, preview []runtime.Planned) estimated {
	e := estimated{recorded: true}
	type kind struct {
		variant, purpose string
		least            float64
	}
	known := map[kind]float64{}
	for _, n := range preview {
		least := sentBy(p, n.Node).Seconds
		for _, l := range n.Launches {
			e.launches++
			key := kind{l.VariantKey, l.Purpose, least}
			mean, ok := known[key]
			if !ok && st != nil {
				mean = launchSeconds(st, l, least)
				known[key] = mean
			}
			if mean == 0 {
				mean, e.recorded = assumedSeconds+least, false
			}
			e.seconds += max(mean, least)
		}
	}
	if e.launches > 0 {
		e.perLaunch = e.seconds / float64(e.launches)
	}
	return e
}

// launchSeconds is what launches like this one took: of the same variant or else
// of the same kind of engine, and for the same purpose. Where there were none,
// those for another purpose say how long a start takes, and what is sent on top
// takes its least; 0 where nothing was ever launched.
func launchSeconds(st *store.Store, l runtime.PlannedLaunch, least float64) float64 {
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, l.Purpose); n > 0 {
			return mean
		}
	}
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, ""); n > 0 {
			return mean + least
		}
	}
	return 0
}

type plannedJSON struct {
	Node     string                  `json:"node"`
	Action   string                  `json:"action"`
	Because  string                  `json:"because,omitempty"`
	Verdict  string                  `json:"verdict,omitempty"`
	If       string                  `json:"if,omitempty"`
	Locked   string                  `json:"locked,omitempty"`
	Launches []runtime.PlannedLaunch `json:"launches,omitempty"`
	// Sends is what each of the launches sends.
	Sends *sent `json:"sends,omitempty"`
}

func (a *app) printPreview(p *plans.Plan, preview []runtime.Planned, e estimated) {
	if a.json {
		nodes := []plannedJSON{}
		for _, n := range preview {
			j := plannedJSON{Node: n.Node.ID, Action: string(n.Action), Because: n.Because, Verdict: string(n.Verdict), If: n.If, Locked: n.Locked, Launches: n.Launches}
			if n.Locked != "" {
				j.Action = "locked"
			}
			if s := sentBy(p, n.Node); s.Cells > 0 && len(n.Launches) > 0 {
				j.Sends = &s
			}
			nodes = append(nodes, j)
		}
		a.printJSON(map[string]any{"nodes": nodes, "launches": e.launches, "seconds": e.seconds, "estimate_from_recorded_launches": e.recorded})
		return
	}
	var rows [][]string
	for _, n := range preview {
		row := previewRow(n)
		if words := sentBy(p, n.Node).words(); words != "" && len(n.Launches) > 0 {
			row[3] += "\n" + words
		}
		rows = append(rows, row)
	}
	a.printTable([]string{"node", "action", "launches", "why"}, rows)
	switch {
	case e.launches == 0:
		fmt.Fprintln(a.stdout, "\nNothing to measure.")
	case e.recorded:
		fmt.Fprintf(a.stdout, "\n%s, about %s from recorded launches, if every gate passes.\n", launchCount(e.launches), rough(e.seconds))
	default:
		fmt.Fprintf(a.stdout, "\n%s, if every gate passes. About %s, but some variants were never launched: %d s is assumed for each of theirs, and what rates and durations take.\n", launchCount(e.launches), rough(e.seconds), assumedSeconds)
	}
}

func launchCount(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

func previewRow(p runtime.Planned) []string {
	if p.Locked != "" {
		return []string{p.Node.ID, "locked", "", p.Locked}
	}
	row := []string{p.Node.ID, string(p.Action), "", p.Because}
	if n := len(p.Launches); n > 0 {
		row[2] = fmt.Sprint(n)
	}
	if p.Action == runtime.Reuse {
		row[3] = fmt.Sprintf("%s, %s", p.Verdict, p.Because)
	}
	if p.If != "" {
		row[3] += ", if " + p.If
	}
	return row
}
