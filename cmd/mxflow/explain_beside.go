package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// printBeside prints what stands beside the rules: alternatives, the hypothesis,
// how the stack compares with its parts, earlier attempts, and notes.
func (a *app) printBeside(e *explanation) {
	d := e.Decision
	for i, alt := range d.Alternatives {
		if i == 0 {
			fmt.Fprintln(a.stdout, "\nAlternatives, of which at most one enters the stack:")
		}
		chosen := ""
		if alt.Chosen {
			chosen = ", chosen"
		}
		a.paragraph("  ", fmt.Sprintf("%s: %s%s%s", alt.Name, alt.Verdict, chosen, because(alt.Reasons, 3)))
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
	if len(e.Notes) > 0 {
		fmt.Fprintln(a.stdout, "\nTo know:")
		a.paragraphs("  ", e.Notes)
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
		fmt.Fprintf(a.stdout, "%s %d  %s  %s (%s)%s\n", mark, t.Attempt, day(t.Time), t.Verdict, t.Because, session)
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
	if h.Measured != "" {
		said = append(said, "Measured: "+h.Measured)
	}
	if h.Test == nil {
		return said
	}
	for _, c := range h.Test.Comparisons {
		if t := c.Test; t != nil && len(t.Looks) > 0 {
			s := scaleOf(t)
			said = append(said, stopSaid(t, missingOf(*h.Test))...)
			said = append(said, intervalSaid(s)...)
		}
	}
	return said
}

func interferenceSaid(f ledger.Interference) string {
	s := fmt.Sprintf("%s: the stack gains %s, its parts (%s) multiplied %s, so together they are %s", f.Metric,
		percentText(f.Stack), strings.Join(f.Parts, ", "), percentText(f.Product), percentText(f.Ratio))
	if f.Low != nil && f.High != nil {
		s += fmt.Sprintf(" (95 %% interval %s to %s)", percentText(*f.Low), percentText(*f.High))
	}
	return s
}
