package main

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
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
		fmt.Fprintf(a.stdout, "Everything agrees: %s with %s.\n", count(agree, "decision"), count(out.Numbers, "number"))
	case agree > 0:
		fmt.Fprintf(a.stdout, "%s of %d agree.\n", count(agree, "decision"), len(out.Decisions))
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
		if !d.Why.IsZero() && d.Outcome != steps.ReplayAgrees && d.Outcome != steps.ReplayDiffers && d.Outcome != steps.ReplayTests {
			say(fmt.Sprintf("%s, attempt %d, %s: %s.", d.Node, d.Attempt, d.Outcome, tell.Line(d.Why)))
		}
		for _, n := range d.Notes {
			say(tell.Line(n))
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
func orLocked(came string, cause verdict.Reason) string {
	if !cause.IsZero() {
		return "locked"
	}
	return came
}
