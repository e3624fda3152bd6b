package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/steps"
)

// printCheck prints what came of it, as people read it.
func (a *app) printCheck(c *steps.EngineCheck) {
	if c.OK {
		fmt.Fprintf(a.stdout, "%s works: ready %s, first token %s\n", c.Engine, after(c.StartupS, "(it was running)"), after(c.FirstRequestS, "at once"))
	} else {
		fmt.Fprintf(a.stdout, "%s broke: %s\n", c.Engine, tell.Line(c.Error))
		if len(c.LogTail) > 0 {
			fmt.Fprintln(a.stdout, "\nlast lines of its log")
			for _, line := range c.LogTail {
				fmt.Fprintf(a.stdout, "  | %s\n", line)
			}
		}
	}
	a.section("what was started", startedWords(c))
	var rows [][2]string
	for _, name := range slices.Sorted(maps.Keys(c.Observed)) {
		rows = append(rows, [2]string{name, observedWords(c.Observed[name])})
	}
	a.section("what it says of itself", rows)
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(c.Unobserved)) {
		rows = append(rows, [2]string{name, tell.Line(c.Unobserved[name])})
	}
	a.section("what it does not say", rows)
	rows = nil
	if c.Answer != "" || c.Prompt != "" {
		rows = append(rows, [2]string{"  answer", fmt.Sprintf("%q continues as %q", c.Prompt, c.Answer)})
	}
	for _, f := range c.Findings {
		mark := "  "
		if !f.Good {
			mark = "! "
		}
		rows = append(rows, [2]string{mark + f.Name, tell.Line(f.Says)})
	}
	a.section("what was tried (! is what a measurement would suffer from)", rows)
	rows = nil
	for _, n := range c.Notes {
		rows = append(rows, [2]string{"-", tell.Line(n)})
	}
	a.section("notes", rows)
	if c.Log != "" {
		fmt.Fprintf(a.stdout, "\nlog: %s\n", filepath.Clean(c.Log))
	}
}
