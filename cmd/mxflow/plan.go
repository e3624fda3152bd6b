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
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func (a *app) planCommand() *cobra.Command {
	var vars []load.Given
	var rerun []string
	var suite string
	c := &cobra.Command{
		Use:   "plan PLAN",
		Short: "Show what an apply would do, in order, and why",
		Long: `Shows each node of the plan: reuse (the recorded outcome is kept), decide or
re-decide (from recorded launches) or measure, and why; how many launches that takes
and about how long. What depends on a gate that is still open says so. Nothing is
started and nothing is written.`,
		Example: "  mxflow plan plan.hcl\n  mxflow plan --rerun all plan.hcl",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, g, _, err := a.load(args[0], vars, suite)
			if err != nil {
				return err
			}
			forced, unknown := runtime.RerunNodes(g, rerun)
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

// assumedSeconds is what a launch is assumed to take where none was recorded.
const assumedSeconds = 5

// estimated is how much an apply has to do.
type estimated struct {
	// launches is how many there are at most, least how many are made in any case.
	launches, least int
	// perLaunch, seconds and leastSeconds are estimates; recorded is false where
	// they rest on no launch at all.
	perLaunch, seconds, leastSeconds float64
	recorded                         bool
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
			if l.Sure {
				e.least++
				e.leastSeconds += max(mean, least)
			}
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
// takes its least, or with the start what is assumed of any launch; 0 where
// nothing was ever launched.
func launchSeconds(st *store.Store, l runtime.PlannedLaunch, least float64) float64 {
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, l.Purpose); n > 0 {
			return mean
		}
	}
	for _, key := range []string{l.VariantKey, l.Engine} {
		if mean, n := st.MeanLaunchSeconds(key, ""); n > 0 {
			if l.Purpose == ledger.ForBenchmark {
				mean = max(mean, assumedSeconds) // requests that no rate paces take time too
			}
			return mean + least
		}
	}
	return 0
}

// count is how many launches, "8 to 16 launches" where rules decide over some.
func (e estimated) count() string {
	if e.least < e.launches {
		return fmt.Sprintf("%d to %s", e.least, count(e.launches, "launch"))
	}
	return count(e.launches, "launch")
}

func (e estimated) time() string {
	if least, most := rough(e.leastSeconds), rough(e.seconds); least != most {
		return least + " to " + most
	}
	return rough(e.seconds)
}

// sent is what each launch of a benchmark sends.
type sent struct {
	Cells    int `json:"cells"`
	Requests int `json:"requests"`
	// Seconds is how long that takes by rates and durations alone, however fast
	// the engine is; 0 where requests are sent as fast as they are answered.
	Seconds float64 `json:"seconds_by_pace,omitempty"`
}

// sentBy is what the benchmark of a node's feature sends; nothing for other
// nodes and for a command, which brings its own work.
func sentBy(p *plans.Plan, n *runtime.Node) (s sent) {
	if n.Kind != runtime.KindBenchmark {
		return s
	}
	feature := p.Feature(n.Feature)
	if feature == nil {
		return s
	}
	protocol := p.Protocol(feature.Protocol)
	if protocol == nil || protocol.Level(plans.BenchmarkLevel) == nil {
		return s
	}
	for _, name := range p.Sent(protocol.Level(plans.BenchmarkLevel)) {
		w := p.Workload(name)
		if w == nil {
			continue
		}
		for _, c := range w.Cells() {
			s.Cells++
			s.Requests += c.Warmup + c.Requests
			s.Seconds += pace(w, c)
		}
	}
	return s
}

// pace is how long sending a cell takes by its clock.
func pace(w *plans.Workload, c plans.Cell) float64 {
	seconds := w.Duration.Seconds()
	if c.Rate <= 0 {
		return seconds
	}
	rate := c.Rate
	if w.RateTo > 0 {
		rate = (c.Rate + w.RateTo) / 2
	}
	if by := float64(c.Requests) / rate; seconds == 0 || by < seconds {
		return by
	}
	return seconds
}

// words are what to know of what a launch sends; empty for a single cell without
// a clock.
func (s sent) words() string {
	if s.Cells < 2 && s.Seconds == 0 {
		return ""
	}
	text := fmt.Sprintf("%s, up to %s a launch", count(s.Cells, "cell"), count(s.Requests, "request"))
	if s.Seconds >= 1 {
		text += fmt.Sprintf(", %s by rates and durations", rough(s.Seconds))
	}
	return text
}
