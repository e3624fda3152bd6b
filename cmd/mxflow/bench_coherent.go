package main

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps"
)

// unreadable looks for answers that do not read as text. An answer that ended by
// itself has to; one that was forced on past its end may repeat itself rightly,
// but when most of a cell's do so, its speed is that of garbage. Nothing else can
// be said without a parent's answers to the same prompts, which a plan has.
func unreadable(t steps.Taken) (invalid, notes []verdict.Reason) {
	for _, run := range t.Cells {
		var found []verdict.Reason
		for _, garbage := range t.Incoherent {
			if garbage.Subject == run.Cell {
				found = append(found, garbage.On(""))
			}
		}
		answers := 0
		for _, s := range t.Samples {
			if s.Workload == run.Cell && s.Measured() && s.Err == "" {
				answers++
			}
		}
		if len(found) == 0 {
			continue
		}
		counted := []verdict.Arg{verdict.Int("answers", len(found)), verdict.Int("of", answers)}
		if run.ExactOutput && 2*len(found) <= answers {
			notes = append(notes, verdict.New(code.SomeUnreadable, counted...).On(run.Cell).From(found[0]))
			continue
		}
		invalid = append(invalid, verdict.New(code.Unreadable, counted...).On(run.Cell).From(found[0]))
	}
	return invalid, notes
}
