package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

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
	locked := map[string]verdict.Reason{}
	for _, l := range report.Locked(st) {
		locked[l.Node] = l.Cause
	}
	var rows [][]string
	var gates []verdict.Verdict
	var open, unmeasured []string
	for i, w := range outcomes {
		outcomes[i].RecordedLocked = locked[w.Node]
		rows = append(rows, []string{w.Node, orLocked(dashed(string(w.Recorded)), locked[w.Node]), orLocked(string(w.WouldBe), w.Locked), strings.Join(tell.Lines(w.Reasons), "\n")})
		if !w.Locked.IsZero() {
			continue // the phase that locks it is among them
		}
		switch feature := w.Kind == ledger.KindFeature; {
		case feature && w.Unmeasured:
			unmeasured = append(unmeasured, w.Node)
		case feature && (w.WouldBe == verdict.Inconclusive || w.WouldBe == verdict.Invalid):
			open = append(open, w.Node)
		case !feature && w.Unmeasured:
			gates = append(gates, w.WouldBe, verdict.Inconclusive)
		case !feature:
			gates = append(gates, w.WouldBe)
		}
	}
	ofGates := verdict.Join(gates...)
	total := ofGates
	if len(unmeasured) > 0 {
		total = verdict.Join(ofGates, verdict.Inconclusive)
	}
	if a.json {
		a.printJSON(map[string]any{"plan": p.Name, "nodes": outcomes, "notes": notes, "verdict": total})
	} else {
		a.printTable([]string{"node", "recorded", "would be", "why"}, rows)
		fmt.Fprintln(a.stdout)
		a.paragraphs("", tell.Lines(notes))
		fmt.Fprintln(a.stdout, changedSaid(ofGates, total, open, unmeasured)+" Nothing was started and nothing was recorded.")
	}
	a.exit = total.ExitCode()
	return nil
}

// changedSaid says in a sentence what would have become of the gates, and of the
// features that no gate waits for.
func changedSaid(ofGates, total verdict.Verdict, open, unmeasured []string) string {
	if ofGates != verdict.Pass {
		return fmt.Sprintf("Not every gate of the changed plan would have passed: %s.", total)
	}
	said := "Every gate of the changed plan would have passed"
	if len(unmeasured) > 0 {
		said += fmt.Sprintf(", but %s %s never measured, so that an apply would measure first: %s", verdict.And(unmeasured), plural(len(unmeasured), "was", "were"), total)
	}
	said += "."
	if len(open) > 0 {
		said += fmt.Sprintf(" What would have become of %s is not known.", verdict.And(open))
	}
	return said
}
