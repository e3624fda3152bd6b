package recorded

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/runtime/store"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/explain"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/outcome"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/standing"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// Run prints a run: its decisions, and its launches with their headline metrics; with
// all, every metric of each. If it has more launches than half a screen has lines, nodes
// that only measure and passed are left out, which is noted.
func Run(on table.Screen, st *store.Store, v *store.RunView, all bool) {
	fmt.Fprintf(on, "run %s of plan %s (%s), started %s\n", v.ID, v.Plan, v.PlanFile, verdict.Second(v.Started))
	if v.Done {
		fmt.Fprintf(on, "%s, exit status %d\n", v.Reason.String(), v.Exit)
	}
	if s := v.Start; s != nil {
		fmt.Fprintf(on, "%s, plan digest %.12s, on %s\n", s.Tool, s.PlanDigest, verdict.Pairs(s.Environment, " ", ", "))
	}
	fmt.Fprintln(on)
	var rows [][]string
	var overruled []report.Overruled
	large := !all && len(v.Launches) > on.Lines/2
	for _, d := range v.Decisions {
		var w *ledger.Waiver
		for _, given := range v.Waivers {
			if given.About(d.Decision) {
				w = given
			}
		}
		o := report.OverruledOf(d.Decision, w, time.Now())
		overruled = append(overruled, o)
		if large && standing.Measures(d.Node) && d.Verdict == verdict.Pass {
			continue
		}
		rows = append(rows, []string{d.Node, o.Word(), fmt.Sprint(d.Attempt), d.Because.String(), strings.Join(new(verdict.Page).Each(outcome.Why(d.Decision)...), "\n")})
	}
	if len(v.Decisions) == 0 {
		kept(on, st, v)
		Launches(on, st, v.Launches, all)
		return
	}
	head := []string{"node", "verdict", "attempt", "because", "why"}
	if !slices.ContainsFunc(v.Decisions, func(d store.Decided) bool { return d.Attempt > 1 }) {
		for i, r := range rows {
			rows[i] = slices.Delete(r, 2, 4)
		}
		head = slices.Delete(head, 2, 4)
	}
	on.Table(head, rows)
	standing.Overruled(on, overruled)
	for _, d := range v.Decisions {
		outcome.Comparison(on, d.Decision)
		if all := explain.Moved(st, d.Decision); len(all) > 0 && !large {
			t := report.Movements(all)
			fmt.Fprintf(on, "\n%s: %s\n", d.Node, report.MovedTitle)
			on.Table(t.Head, t.Rows)
		}
	}
	if large {
		limits(on, st, v.Launches)
		fmt.Fprintf(on, "\n%s. mxflow compare has those that count, mxflow explain what changed, mxflow show --all %s every launch with all metrics.\n", verdict.Launches(len(v.Launches)), v.ID)
		return
	}
	Launches(on, st, v.Launches, all)
}

// kept prints what stood when a run that decided nothing began.
func kept(on table.Screen, st *store.Store, v *store.RunView) {
	var rows [][]string
	if v.Start != nil {
		for _, node := range v.Start.Nodes {
			for _, d := range slices.Backward(st.History(node)) {
				if d.Time.Before(v.Started) {
					rows = append(rows, []string{node, string(d.Verdict), d.Run})
					break
				}
			}
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(on, "This run decided nothing.")
		return
	}
	fmt.Fprintln(on, "This run decided nothing. Kept from before:")
	on.Table([]string{"node", "verdict", "run"}, rows)
}
