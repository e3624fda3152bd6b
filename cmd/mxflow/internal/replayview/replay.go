// Package replayview counts and prints the results of deciding again from the record, and of
// computing metrics again from raw data. steps/replay does both; this package knows no
// flags.
package replayview

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/replay"
)

// Result is the result of deciding again.
type Result struct {
	Decisions []replay.Replayed      `json:"decisions"`
	Counts    map[replay.Outcome]int `json:"counts"`
	Numbers   int                    `json:"numbers"`
	Agrees    bool                   `json:"agrees"`
	// Unreplayed is what was not decided again: nodes by level, and by the kind of decision.
	Unreplayed map[string][]string `json:"unreplayed,omitempty"`
	// left are decisions in force whose rules could not be decided again.
	left int
}

// Replayed decides the recorded decisions about a node again, or all if none is named.
func Replayed(r *replay.Replay, node string) *Result {
	out := &Result{Decisions: []replay.Replayed{}, Counts: map[replay.Outcome]int{}}
	for _, d := range r.Decisions() {
		if node != "" && d.Node != node {
			continue
		}
		is := r.Decide(d)
		out.Decisions = append(out.Decisions, is)
		out.Counts[is.Outcome]++
		out.Numbers += is.Numbers
		for _, level := range is.Unreplayed {
			out.ledgerOnly("level "+level, d.Node)
		}
		for _, what := range is.LedgerOnly {
			out.ledgerOnly(what, d.Node)
		}
		if is.Outcome == replay.Unreplayed && (d.Kind == ledger.KindBenchmark || d.Kind == ledger.KindStep) {
			out.ledgerOnly(d.Kind, d.Node)
		}
		if is.Outcome == replay.Unreplayed && is.InForce && (d.Kind == ledger.KindFeature || d.Kind == ledger.KindCriteria || d.Kind == ledger.KindGate) {
			out.left++
		}
	}
	if node == "" {
		for _, d := range r.LedgerOnly() {
			out.ledgerOnly(d.Kind, d.Node)
		}
	}
	n := out.Counts
	out.Agrees = n[replay.Agrees] > 0 && n[replay.Differs] == 0 && n[replay.Broken] == 0 && out.left == 0
	return out
}

// Verdict is the exit status, and what did not agree.
func (out *Result) Verdict() (exit int, err error) {
	n := out.Counts
	switch {
	case n[replay.Differs] > 0:
		return verdict.ExitFail, fmt.Errorf("%s did not come out as recorded", verdict.Count(n[replay.Differs], "decision"))
	case n[replay.Broken] > 0:
		return verdict.ExitBroken, fmt.Errorf("cannot decide %s again: raw data are missing or damaged", verdict.Count(n[replay.Broken], "decision"))
	case out.left > 0:
		return verdict.ExitInconclusive, fmt.Errorf("cannot decide %s in force again: the plan no longer compiles as recorded. If it needs variables, give them again with --var or --var-file", verdict.Count(out.left, "decision"))
	case n[replay.Agrees] == 0:
		return verdict.ExitInconclusive, errors.New("there is nothing to decide again: no feature or gate was decided by rules here")
	}
	return 0, nil
}

// ledgerOnly notes that a node's outcome is known from the ledger alone.
func (out *Result) ledgerOnly(what, node string) {
	if out.Unreplayed == nil {
		out.Unreplayed = map[string][]string{}
	}
	if !slices.Contains(out.Unreplayed[what], node) {
		out.Unreplayed[what] = append(out.Unreplayed[what], node)
	}
}

// changedSaid is a sentence about what would have become of the gates, and of the
// features that no gate waits for.
func changedSaid(ofGates, total verdict.Verdict, open, unmeasured []string) string {
	if ofGates != verdict.Pass {
		return fmt.Sprintf("Not every gate of the changed plan would have passed: %s.", total)
	}
	said := "Every gate of the changed plan would have passed"
	if len(unmeasured) > 0 {
		said += fmt.Sprintf(", but no run measured %s, so an apply would measure first: %s", verdict.And(unmeasured), total)
	}
	said += "."
	if len(open) > 0 {
		said += fmt.Sprintf(" The outcome of %s is unknown.", verdict.And(open))
	}
	return said
}

// mostListed limits the listed decisions that agree; beyond that, only those that do not
// are listed.
const mostListed = 40

// mostDifferences limits the listed differences of one decision.
const mostDifferences = 20

// Print prints what came out differently, and a line for each decision if there are few.
// Notes are paragraphs of a width.
func (out *Result) Print(on table.Screen, width int) {
	rows, differences := [][]string{}, [][]string{}
	for _, d := range out.Decisions {
		if d.Outcome != replay.Agrees || len(out.Decisions) <= mostListed {
			rows = append(rows, []string{d.Node, fmt.Sprint(d.Attempt), string(d.Recorded), string(cmp.Or(d.Verdict, "–")), string(d.Outcome), string(d.Rules)})
		}
		for i, diff := range d.Differences {
			if i == mostDifferences {
				differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), fmt.Sprintf("and %d more", len(d.Differences)-i), "", "", ""})
				break
			}
			differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), diff.Rule, diff.What, diff.Recorded, diff.Replayed})
		}
	}
	if len(rows) > 0 {
		on.Table([]string{"node", "attempt", "recorded", "replayed", "outcome", "rules from"}, rows)
		fmt.Fprintln(on)
	}
	if len(differences) > 0 {
		on.Table([]string{"node", "attempt", "rule", "what", "recorded", "replayed"}, differences)
		fmt.Fprintln(on)
	}
	out.printNotes(on, width)
	agree := out.Counts[replay.Agrees]
	switch {
	case out.Agrees:
		fmt.Fprintf(on, "Everything agrees: %s with %s.\n", verdict.Count(agree, "decision"), verdict.Count(out.Numbers, "number"))
	case agree > 0:
		fmt.Fprintf(on, "%s of %d agree.\n", verdict.Count(agree, "decision"), len(out.Decisions))
	}
	var only []string
	for _, what := range slices.Sorted(maps.Keys(out.Unreplayed)) {
		only = append(only, fmt.Sprintf("%s (%s)", what, strings.Join(out.Unreplayed[what], ", ")))
	}
	if len(only) > 0 {
		table.Paragraph(on, "", "Not replayed, known only from the ledger: "+strings.Join(only, "; ")+".", width)
	}
}

// printNotes prints once what holds for several decisions.
func (out *Result) printNotes(on table.Screen, width int) {
	var said []string
	for _, d := range out.Decisions {
		if !d.Why.IsZero() && d.Outcome != replay.Agrees && d.Outcome != replay.Differs {
			said = append(said, fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome, d.Why.String()))
		}
		for _, n := range d.Notes {
			if text := n.String(); !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	for i, text := range said {
		if i == mostListed {
			fmt.Fprintf(on, "And %d more notes; --json has all.\n", len(said)-i)
			break
		}
		table.Paragraph(on, "", text, width)
	}
}

// orLocked is the table entry for the verdict of a node that may be locked.
func orLocked(came verdict.Verdict, cause verdict.Reason) string {
	if !cause.IsZero() {
		return "locked"
	}
	return string(came)
}

// Changed is what another plan would have made of the recorded evidence.
type Changed struct {
	Nodes   []replay.WouldBe `json:"nodes"`
	Plan    string           `json:"plan"`
	Verdict verdict.Verdict  `json:"verdict"`

	rows [][]string
	// ofGates is the verdict of all gates; unmeasured are features that no run measured,
	// open those whose outcome would be unknown.
	ofGates          verdict.Verdict
	open, unmeasured []string
}

// With decides the recorded evidence by another plan.
func With(r *replay.Replay, st *store.Store, p *plans.Plan) (c *Changed, err error) {
	c = &Changed{Plan: p.Name}
	if c.Nodes, err = r.With(p); err != nil {
		return nil, err
	}
	locked := map[string]verdict.Reason{}
	for _, l := range report.Locked(st) {
		locked[l.Node] = l.Cause
	}
	var gates []verdict.Verdict
	for i, w := range c.Nodes {
		c.Nodes[i].RecordedLocked = locked[w.Node]
		c.rows = append(c.rows, []string{w.Node, orLocked(cmp.Or(w.Recorded, "–"), locked[w.Node]), orLocked(w.WouldBe, w.Locked), strings.Join(verdict.Lines(w.Reasons), "\n")})
		if !w.Locked.IsZero() {
			continue // the phase that locks it is among them
		}
		switch feature := w.Kind == ledger.KindFeature; {
		case feature && w.Unmeasured:
			c.unmeasured = append(c.unmeasured, w.Node)
		case feature && (w.WouldBe == verdict.Inconclusive || w.WouldBe == verdict.Invalid):
			c.open = append(c.open, w.Node)
		case !feature && w.Unmeasured:
			gates = append(gates, w.WouldBe, verdict.Inconclusive)
		case !feature:
			gates = append(gates, w.WouldBe)
		}
	}
	c.ofGates = verdict.Join(gates...)
	c.Verdict = c.ofGates
	if len(c.unmeasured) > 0 {
		c.Verdict = verdict.Join(c.ofGates, verdict.Inconclusive)
	}
	return c, nil
}

// Print prints a line per node.
func (c *Changed) Print(on table.Screen) {
	on.Table([]string{"node", "recorded", "would be", "why"}, c.rows)
	fmt.Fprintln(on)
	on.Sentence(changedSaid(c.ofGates, c.Verdict, c.open, c.unmeasured) + " Nothing was started and nothing was recorded.")
}
