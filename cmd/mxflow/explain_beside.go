package main

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// printBeside prints what stands beside the rules: alternatives, the hypothesis,
// how the stack compares with its parts, earlier attempts, and notes.
func (a *app) printBeside(e *explanation, told *told) {
	d := e.Decision
	for i, alt := range d.Alternatives {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nAlternatives, of which at most one enters the stack:")
		}
		chosen := ""
		if alt.Chosen {
			chosen = ", chosen"
		}
		reasons := slices.DeleteFunc(slices.Clone(alt.Reasons), func(r verdict.Reason) bool {
			return slices.ContainsFunc(d.Interference, func(i ledger.Interference) bool { return i.Reason().Equal(r) })
		})
		a.paragraph("  ", fmt.Sprintf("%s: %s%s%s", alt.Name, alt.Verdict, chosen, because(reasons, 3)))
	}
	if h := d.Hypothesis; h != nil {
		fmt.Fprintln(a.stdout, "\nHypothesis, which decides nothing:")
		a.paragraphs("  ", hypothesisSaid(h))
	}
	for i, f := range d.Interference {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nThe stack against the product of its parts:")
		}
		a.paragraph("  ", interferenceSaid(f))
	}
	if len(e.Attempts) > 1 {
		fmt.Fprintln(a.stdout, "\nAttempts:")
		a.printAttempts(e.Attempts)
	}
	for i, note := range told.Once(e.Notes...) {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nTo know:")
		}
		a.paragraph("  ", tell.Capital(tell.Stop(note)))
	}
}

func (a *app) printAttempts(attempts []attempt) {
	for _, t := range attempts {
		mark := " "
		if t.Explained {
			mark = "*"
		}
		session := ""
		if t.Session != "" {
			session = ", session " + t.Session
		}
		fmt.Fprintf(a.stdout, "%s %d  %s  %s (%s)%s\n", mark, t.Attempt, atMinute(t.Time), t.Verdict, tell.Line(t.Because), session)
	}
}

func hypothesisSaid(h *ledger.Hypothesis) (said []string) {
	came := h.Outcome
	if came == "" {
		came = "not decided"
	}
	if h.PostHoc {
		came += ", POST HOC: it was claimed after its launches were measured, so they prove nothing of it"
	}
	said = append(said, fmt.Sprintf("%s %s: %s", h.Metric, h.Expect, came))
	if h.Because != "" {
		said = append(said, "Because: "+h.Because)
	}
	tested := []string{}
	if h.Test != nil {
		for _, c := range h.Test.Comparisons {
			if t := c.Test; t != nil && len(t.Looks) > 0 {
				tested = append(tested, claimStopSaid(t)...)
				if text, _ := intervalSaid(scale{t}); text != "" {
					tested = append(tested, text)
				}
			}
		}
	}
	// What was measured has a plain interval of 95 %, which would stand beside that of
	// the test and say something else.
	if len(tested) == 0 && !h.Measured.IsZero() {
		tested = append(tested, "Measured: "+tell.Line(h.Measured))
	}
	return append(said, tested...)
}

// claimStopSaid says why the test of a claim ended: no launch is made for one.
func claimStopSaid(t *verdict.Test) []string {
	if t.Stop != verdict.StopOpen {
		return stopSaid(t, "")
	}
	return []string{openSaid(lastLookOf(t), "launches are made for the criteria, and none for a hypothesis")}
}

func interferenceSaid(f ledger.Interference) string {
	// It begins with a feature's name, which keeps its small letter.
	return fmt.Sprintf("%s. Measured: %s; product: %s.", tell.Line(f.Reason()), tell.Percent(f.Stack, 1), tell.Percent(f.Product, 1))
}
