package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/steps"
)

// unreadable looks for answers that do not read as text. An answer that ended by
// itself has to; one that was forced on past its end may repeat itself rightly,
// but when most of a cell's do so, its speed is that of garbage. Nothing else can
// be said without a parent's answers to the same prompts, which a plan has.
func unreadable(t steps.Taken) (invalid, notes []string) {
	for _, run := range t.Cells {
		var found []string
		for _, text := range t.Incoherent {
			if what, ok := strings.CutPrefix(text, run.Cell+" "); ok {
				found = append(found, what)
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
		text := fmt.Sprintf("%d of %d answers of %s do not read as text, such as %s", len(found), answers, run.Cell, found[0])
		if run.ExactOutput && 2*len(found) <= answers {
			notes = append(notes, text)
			continue
		}
		invalid = append(invalid, text+": speeds of a server that answers so mean nothing")
	}
	return invalid, notes
}
