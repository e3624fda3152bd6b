package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// mostListed is how many decisions are listed that agree; of more, only those that
// do not.
const mostListed = 40

// mostDifferences bounds the list of differences of one decision.
const mostDifferences = 20

func (a *app) printReplay(out replayResult) {
	rows, differences := [][]string{}, [][]string{}
	for _, d := range out.Decisions {
		if d.Outcome != steps.ReplayAgrees || len(out.Decisions) <= mostListed {
			rows = append(rows, []string{d.Node, fmt.Sprint(d.Attempt), string(d.Recorded), dashed(string(d.Again)), string(d.Outcome), string(d.Rules)})
		}
		for i, diff := range d.Differences {
			if i == mostDifferences {
				differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), fmt.Sprintf("and %d more", len(d.Differences)-i), "", "", ""})
				break
			}
			differences = append(differences, []string{d.Node, fmt.Sprint(d.Attempt), diff.Rule, diff.What, diff.Recorded, diff.Again})
		}
	}
	if len(rows) > 0 {
		a.printTable([]string{"node", "attempt", "recorded", "again", "outcome", "rules from"}, rows)
		fmt.Fprintln(a.stdout)
	}
	if len(differences) > 0 {
		a.printTable([]string{"node", "attempt", "rule", "what", "recorded", "again"}, differences)
		fmt.Fprintln(a.stdout)
	}
	a.printReplayNotes(out)
	agree := out.Counts[steps.ReplayAgrees]
	switch {
	case out.Agrees:
		fmt.Fprintf(a.stdout, "Everything agrees: %s with %s.\n", countOf(agree, "decision", "decisions"), countOf(out.Numbers, "number", "numbers"))
	case agree > 0:
		fmt.Fprintf(a.stdout, "%s of %d agree.\n", countOf(agree, "decision", "decisions"), len(out.Decisions))
	}
}

// printReplayNotes says once what holds for several decisions.
func (a *app) printReplayNotes(out replayResult) {
	var said []string
	say := func(text string) {
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	for _, d := range out.Decisions {
		if d.Why != "" && d.Outcome != steps.ReplayAgrees && d.Outcome != steps.ReplayDiffers && d.Outcome != steps.ReplayTests {
			say(fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome, d.Why))
		}
		for _, n := range d.Notes {
			say(n)
		}
	}
	for i, text := range said {
		if i == mostListed {
			fmt.Fprintf(a.stdout, "And %d more notes; --json has all.\n", len(said)-i)
			break
		}
		a.paragraph("", text)
	}
}

func dashed(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// orLocked is what stands in a table for the verdict of a node that may be locked.
func orLocked(verdict, cause string) string {
	if cause != "" {
		return "locked"
	}
	return verdict
}

// replayWith decides the recorded evidence by another plan.
func (a *app) replayWith(st *store.Store, flags replayFlags) error {
	p, _, _, err := a.load(flags.changed, flags.vars, flags.suite)
	if err != nil {
		return err
	}
	if runs := st.Runs(); len(runs) == 0 {
		return a.fail(verdict.ExitInconclusive, fmt.Errorf("nothing was applied here, so there is no evidence to decide by"))
	} else if was := runs[len(runs)-1].Plan; was != p.Name {
		return fmt.Errorf("%s is plan %q, and plan %q is what was recorded in %s: give the changed plan the same name, or name the other plan's folder", flags.changed, p.Name, was, st.Dir())
	}
	outcomes, notes := newReplay(st, flags).With(p)
	locked := map[string]string{}
	for _, l := range report.Locked(st) {
		locked[l.Node] = l.Cause
	}
	var rows [][]string
	var all []verdict.Verdict
	var open []string
	for i, w := range outcomes {
		outcomes[i].RecordedLocked = locked[w.Node]
		why := ""
		for i, r := range w.Reasons {
			if i > 0 {
				why += "\n"
			}
			why += r
		}
		rows = append(rows, []string{w.Node, orLocked(dashed(string(w.Recorded)), locked[w.Node]), orLocked(string(w.WouldBe), w.Locked), why})
		if w.Locked != "" {
			continue // the phase that locks it is among them
		}
		if w.Kind != ledger.KindFeature {
			all = append(all, w.WouldBe)
		} else if w.Unmeasured || w.WouldBe == verdict.Inconclusive || w.WouldBe == verdict.Invalid {
			open = append(open, w.Node)
		}
		if w.Unmeasured {
			all = append(all, verdict.Inconclusive)
		}
	}
	total := verdict.Join(all...)
	if a.json {
		a.printJSON(map[string]any{"plan": p.Name, "nodes": outcomes, "notes": notes, "verdict": total})
	} else {
		a.printTable([]string{"node", "recorded", "would be", "why"}, rows)
		fmt.Fprintln(a.stdout)
		a.paragraphs("", notes)
		if total == verdict.Pass {
			known := ""
			if len(open) > 0 {
				known = fmt.Sprintf(" What would have become of %s is not known.", strings.Join(open, ", "))
			}
			fmt.Fprintf(a.stdout, "Every gate of the changed plan would have passed.%s Nothing was started and nothing was recorded.\n", known)
		} else {
			fmt.Fprintf(a.stdout, "Not every gate of the changed plan would have passed: %s. Nothing was started and nothing was recorded.\n", total)
		}
	}
	a.exit = total.ExitCode()
	return nil
}
