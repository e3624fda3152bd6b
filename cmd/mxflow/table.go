package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
)

// table prints what a run decided, and why.
func (a *app) table(s runtime.Summary, end *ledger.End, c *clock) {
	if a.ending != nil {
		return
	}
	var rows [][]string
	page := &tell.Page{}
	for _, r := range s.Rows {
		if row := tableRow(r, page); row != nil {
			rows = append(rows, row)
		}
	}
	fmt.Fprintln(a.stdout)
	a.printTable([]string{"phase", "decision", "verdict", "why"}, rows)
	a.comparisons(s)
	a.lastWords(s)
	took := time.Since(c.began)
	switch {
	case end.Reason.Code == code.Interrupted:
		fmt.Fprintf(a.stdout, "\nInterrupted after %s. What was decided is kept; apply again goes on.\n", rough(took.Seconds()))
	case end.Exit == verdict.ExitBroken && end.Reason.Code != code.Finished:
		fmt.Fprintf(a.stdout, "\nStopped after %s: %s\n", rough(took.Seconds()), tell.Line(end.Reason))
	default:
		fmt.Fprintf(a.stdout, "\n%s after %s (exit status %d).\n", closing[end.Verdict], rough(took.Seconds()), end.Exit)
	}
	for _, r := range s.Rows {
		if r.Reused && !r.Decision.Verdict.Unlocks() {
			fmt.Fprintln(a.stdout, "Outcomes marked (kept) rest on unchanged inputs; --rerun NAME measures again.")
			break
		}
	}
}

var closing = map[verdict.Verdict]string{
	verdict.Pass:         "Every gate passed",
	verdict.Waived:       "Every gate passed or is waived",
	verdict.Fail:         "Not every gate passed: fail",
	verdict.Invalid:      "Not every gate passed: invalid",
	verdict.Inconclusive: "Not every gate passed: inconclusive",
	verdict.Error:        "The engine or the harness broke",
}

// tableRow shows what people decide by: baseline, steps, features and gates.
// The measurements below a feature show up in its reasons.
func tableRow(r runtime.Row, page *tell.Page) []string {
	n := r.Node
	if n.Kind == runtime.KindBenchmark || n.Kind == runtime.KindQualify && n.ID != runtime.BaselineID {
		return nil
	}
	row := []string{n.Phase, label(n), "", ""}
	switch {
	case r.Decision != nil:
		row[2] = string(r.Decision.Verdict)
		row[3] = strings.Join(report.Told(page, r.Decision, whyHere(r.Decision)), "\n")
		if r.Reused {
			row[3] = "(kept) " + row[3]
		}
		if r.Waived {
			row[2] += ", waived"
		}
		if !r.Overruled.IsZero() {
			row[3] = tell.Line(r.Overruled) + "\n" + row[3]
		}
	case !r.Locked.IsZero():
		row[2], row[3] = "locked", tell.Line(r.Locked)
	default:
		row[2], row[3] = "-", "not run"
	}
	return row
}

// whyHere leaves out of a confirmed feature what the row of the first engine says,
// which stands above it.
func whyHere(d *ledger.Decision) []verdict.Reason {
	if len(d.Confirmations) == 0 {
		return why(d)
	}
	var reasons []verdict.Reason
	for _, c := range d.Confirmations {
		reasons = append(reasons, c.Reason)
	}
	return append(reasons, verdict.New(code.FirstAbove))
}

func label(n *runtime.Node) string {
	switch n.Kind {
	case runtime.KindFeature:
		return "feature " + n.Feature
	case runtime.KindCriteria:
		if n.FeatureBlock.Engine == "" {
			return "feature " + n.Feature + ", first engine"
		}
		return "feature " + n.FeatureBlock.Name
	case runtime.KindGate:
		return "gate"
	case runtime.KindPhase:
		return "phase"
	case runtime.KindStep:
		return "step " + n.StepBlock.Kind + " " + n.StepBlock.Name
	}
	return n.ID
}

var verdictColours = map[string]string{
	"pass": "2", "waived": "6", "fail": "1", "invalid": "5", "error": "1", "inconclusive": "3", "locked": "8",
	"fail, waived": "6", "inconclusive, waived": "6", "invalid, waived": "6",
}
