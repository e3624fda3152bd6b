package view

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/replay"
)

// Replay is what deciding again from the record came to.
type Replay struct {
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
func Replayed(r *replay.Replay, node string) *Replay {
	out := &Replay{Decisions: []replay.Replayed{}, Counts: map[replay.Outcome]int{}, Unreplayed: map[string][]string{}}
	ledgerOnly := func(what, node string) {
		if !slices.Contains(out.Unreplayed[what], node) {
			out.Unreplayed[what] = append(out.Unreplayed[what], node)
		}
	}
	for _, d := range r.Decisions() {
		if node != "" && d.Node != node {
			continue
		}
		is := r.Decide(d)
		out.Decisions = append(out.Decisions, is)
		out.Counts[is.Outcome]++
		out.Numbers += is.Numbers
		for _, level := range is.Unreplayed {
			ledgerOnly("level "+level, d.Node)
		}
		for _, what := range is.LedgerOnly {
			ledgerOnly(what, d.Node)
		}
		if is.Outcome == replay.Unreplayed {
			switch d.Kind {
			case ledger.KindBenchmark, ledger.KindStep:
				ledgerOnly(d.Kind, d.Node)
			case ledger.KindFeature, ledger.KindCriteria, ledger.KindGate:
				if is.InForce {
					out.left++
				}
			}
		}
	}
	if node == "" {
		for _, d := range r.LedgerOnly() {
			ledgerOnly(d.Kind, d.Node)
		}
	}
	n := out.Counts
	out.Agrees = n[replay.Agrees] > 0 && n[replay.Differs] == 0 && n[replay.Broken] == 0 && out.left == 0
	return out
}

// Verdict is the exit status, and what did not agree.
func (out *Replay) Verdict() (exit int, err error) {
	n := out.Counts
	switch {
	case n[replay.Differs] > 0:
		return verdict.ExitFail,
			fmt.Errorf("%s did not come out as recorded", verdict.Count(n[replay.Differs], "decision"))
	case n[replay.Broken] > 0:
		return verdict.ExitBroken, fmt.Errorf("cannot decide %s again: raw data are missing or damaged",
			verdict.Count(n[replay.Broken], "decision"))
	case out.left > 0:
		return verdict.ExitInconclusive,
			fmt.Errorf("cannot decide %s in force again: the plan no longer compiles as recorded. If it needs "+
				"variables, give them again with --var or --var-file", verdict.Count(out.left, "decision"))
	case n[replay.Agrees] == 0:
		return verdict.ExitInconclusive,
			errors.New("there is nothing to decide again: no feature or gate was decided by rules here")
	}
	return 0, nil
}

// mostListed limits the decisions that agree, and the differences of one decision.
const mostListed = 40

// Print prints what came out differently, a line for each decision if there are few, and
// once what holds for several of them.
func (out *Replay) Print(on table.Screen) {
	rows, differences := [][]string{}, [][]string{}
	var said []string
	for _, d := range out.Decisions {
		if d.Outcome != replay.Agrees || len(out.Decisions) <= mostListed {
			rows = append(rows, []string{
				d.Node, fmt.Sprint(d.Attempt), string(d.Recorded),
				string(cmp.Or(d.Verdict, "–")), string(d.Outcome), string(d.Rules),
			})
		}
		for i, diff := range d.Differences {
			if i == mostListed {
				differences = append(differences,
					[]string{d.Node, fmt.Sprint(d.Attempt), fmt.Sprintf("and %d more", len(d.Differences)-i)})
				break
			}
			differences = append(differences,
				[]string{d.Node, fmt.Sprint(d.Attempt), diff.Rule, diff.What, diff.Recorded, diff.Replayed})
		}
		if !d.Why.IsZero() && d.Outcome != replay.Agrees && d.Outcome != replay.Differs {
			said = append(said, fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome,
				strings.TrimSuffix(d.Why.String(), ".")))
		}
		for _, n := range verdict.Lines(d.Notes) {
			if !slices.Contains(said, n) {
				said = append(said, n)
			}
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
	if more := len(said) - mostListed; more > 0 {
		said = append(said[:mostListed], fmt.Sprintf("And %d more notes; --json has all.", more))
	}
	for _, text := range said {
		on.Sentence(text)
	}
	agree := out.Counts[replay.Agrees]
	switch {
	case out.Agrees:
		fmt.Fprintf(on, "Everything agrees: %s with %s.\n", verdict.Count(agree, "decision"),
			verdict.Count(out.Numbers, "number"))
	case agree > 0:
		fmt.Fprintf(on, "%s of %d agree.\n", verdict.Count(agree, "decision"), len(out.Decisions))
	}
	var only []string
	for _, what := range slices.Sorted(maps.Keys(out.Unreplayed)) {
		only = append(only, fmt.Sprintf("%s (%s)", what, strings.Join(out.Unreplayed[what], ", ")))
	}
	if len(only) > 0 {
		on.Sentence("Not replayed, known only from the ledger: " + strings.Join(only, "; ") + ".")
	}
}
