package replay

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Agreement is what deciding again from the record came to.
type Agreement struct {
	Decisions []Replayed      `json:"decisions"`
	Counts    map[Outcome]int `json:"counts"`
	Numbers   int             `json:"numbers"`
	Agrees    bool            `json:"agrees"`
	// Unreplayed is what was not decided again: nodes by level, and by the kind of decision.
	Unreplayed map[string][]string `json:"unreplayed,omitempty"`
	// left are decisions in force whose rules could not be decided again.
	left int
}

// All decides the recorded decisions about a node again, or all if none is named.
func (r *Replay) All(node string) *Agreement {
	out := &Agreement{Decisions: []Replayed{}, Counts: map[Outcome]int{}, Unreplayed: map[string][]string{}}
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
		if is.Outcome == Unreplayed {
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
		for _, is := range r.Nights() {
			out.Decisions = append(out.Decisions, is)
			out.Counts[is.Outcome]++
		}
		for _, d := range r.LedgerOnly() {
			ledgerOnly(d.Kind, d.Node)
		}
	}
	n := out.Counts
	out.Agrees = n[Agrees] > 0 && n[Differs] == 0 && n[Broken] == 0 && out.left == 0
	return out
}

// Verdict is the exit status, and what did not agree.
func (out *Agreement) Verdict() (exit int, err error) {
	n := out.Counts
	switch {
	case n[Differs] > 0:
		return verdict.ExitFail,
			fmt.Errorf("%s did not come out as recorded", verdict.Count(n[Differs], "decision"))
	case n[Broken] > 0:
		return verdict.ExitBroken, fmt.Errorf("cannot decide %s again: raw data are missing or damaged",
			verdict.Count(n[Broken], "decision"))
	case out.left > 0:
		return verdict.ExitInconclusive,
			fmt.Errorf("cannot decide %s in force again: the plan no longer compiles as recorded. If it needs "+
				"variables, give them again with --var or --var-file", verdict.Count(out.left, "decision"))
	case n[Agrees] == 0:
		return verdict.ExitInconclusive,
			errors.New("there is nothing to decide again: no feature or gate was decided by rules here")
	}
	return 0, nil
}
