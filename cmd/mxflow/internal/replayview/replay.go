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
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
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

// Changed is what another plan makes of the record.
type Changed struct {
	Nodes   []WouldBe       `json:"nodes"`
	Plan    string          `json:"plan"`
	Verdict verdict.Verdict `json:"verdict"`
	// Differences is how many numbers of its launches come out otherwise from raw data.
	Differences int `json:"differences,omitempty"`
}

// WouldBe is what another plan makes of a node by the launches on record.
type WouldBe struct {
	Node string `json:"node"`
	// Recorded is the recorded verdict, empty if the node was never decided.
	Recorded verdict.Verdict `json:"recorded,omitempty"`
	// WouldBe is inconclusive if launches are missing for it, or for what it rests on.
	WouldBe  verdict.Verdict  `json:"would_be,omitempty"`
	Accepted bool             `json:"accepted,omitempty"`
	Locked   verdict.Reason   `json:"locked,omitzero"`
	Missing  int              `json:"missing_launches,omitempty"`
	Reasons  []verdict.Reason `json:"reasons,omitempty"`
	Rules    []verdict.Rule   `json:"rules,omitempty"`
}

// With shows the states of another plan.
func With(st *store.Store, p *plans.Plan, states []*runtime.State, differences int) *Changed {
	c := &Changed{Plan: p.Name, Differences: differences}
	var gates []verdict.Verdict
	for _, s := range states {
		w := WouldBe{Node: s.Node.ID, Locked: s.Locked, Missing: len(s.Launches)}
		if was, _, ok := st.Latest(s.Node.ID); ok {
			w.Recorded = was.Verdict
		}
		switch d := s.Decision; {
		case d != nil:
			w.WouldBe, w.Accepted, w.Rules, w.Reasons = d.Verdict, d.Accepted, d.Rules, d.Why()
		case s.HasWork():
			w.WouldBe = verdict.Inconclusive
			w.Reasons = []verdict.Reason{verdict.Say("replay.to_measure", "an apply would measure it first: {causes}").From(s.Why)}
			if s.Node.Kind == runtime.KindStep {
				w.Reasons[0] = verdict.Say("replay.to_run", "an apply would run it first: {causes}").From(s.Why)
			}
		case s.Locked.IsZero():
			w.WouldBe = verdict.Inconclusive
			w.Reasons = []verdict.Reason{verdict.Say("replay.rests_on_missing", "it rests on what an apply would measure first")}
		}
		if runtime.Waivable(s.Node.Kind) && w.WouldBe != "" {
			gates = append(gates, w.WouldBe)
		}
		c.Nodes = append(c.Nodes, w)
	}
	c.Verdict = verdict.Join(gates...)
	return c
}

// Print prints a line per node.
func (c *Changed) Print(on table.Screen) {
	var rows [][]string
	for _, w := range c.Nodes {
		would, why := string(w.WouldBe), strings.Join(verdict.Lines(w.Reasons), "\n")
		if !w.Locked.IsZero() {
			would, why = "locked", w.Locked.String()
		}
		rows = append(rows, []string{w.Node, cmp.Or(string(w.Recorded), "–"), would, why})
	}
	on.Table([]string{"node", "recorded", "would be", "why"}, rows)
	said := "Every gate of the changed plan passes on the launches on record."
	switch c.Verdict {
	case verdict.Pass, verdict.Waived:
	case verdict.Inconclusive:
		said = "A gate of the changed plan is inconclusive on the launches on record."
	default:
		said = "A gate of the changed plan does not pass: " + string(c.Verdict) + "."
	}
	if c.Differences > 0 {
		said += fmt.Sprintf(" Its raw data contradict the record (%s, see mxflow audit replay).", verdict.Count(c.Differences, "difference"))
	}
	fmt.Fprintln(on)
	on.Sentence(said + " Nothing was started and nothing was recorded.")
}
