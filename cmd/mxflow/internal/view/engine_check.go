package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/levels"
)

// EngineCheck prints the result for people.
func EngineCheck(on table.Screen, c *levels.EngineCheck) {
	if c.OK {
		but := ""
		if len(c.Invalid) > 0 {
			but = ", but a launch like this would not count, see ! below"
		}
		ready := c.StartupS
		if ready != nil && c.FirstRequestS != nil {
			s := *ready - *c.FirstRequestS
			ready = &s
		}
		fmt.Fprintf(on, "%s works%s: ready %s, first token %s\n",
			c.Engine, but, readyAfter(ready, "(it was running)"), readyAfter(c.FirstRequestS, "at once"))
	} else {
		fmt.Fprintf(on, "%s broke: %s\n", c.Engine, c.Error.String())
		if len(c.LogTail) > 0 {
			fmt.Fprintln(on, "\nlast lines of its log")
			for _, line := range c.LogTail {
				fmt.Fprintf(on, "  | %s\n", line)
			}
		}
	}
	on.Section("what was started", startedWords(c))
	var rows [][2]string
	for _, name := range slices.Sorted(maps.Keys(c.Observed)) {
		rows = append(rows, [2]string{name, observedWords(c.Observed[name])})
	}
	on.Section("what it reports", rows)
	rows = nil
	for _, name := range slices.Sorted(maps.Keys(c.Unobserved)) {
		rows = append(rows, [2]string{name, c.Unobserved[name].String()})
	}
	on.Section("not reported", rows)
	rows = nil
	if c.Answer != "" || c.Prompt != "" {
		rows = append(rows, [2]string{"answer", fmt.Sprintf("%q continues as %q", c.Prompt, c.Answer)})
	}
	for _, r := range c.Invalid {
		rows = append(rows, [2]string{"!", r.String()})
	}
	for _, n := range c.Notes {
		rows = append(rows, [2]string{"-", n.String()})
	}
	on.Section("what measuring shows (! would not count)", rows)
	if c.Log != "" {
		fmt.Fprintf(on, "\nlog: %s\n", filepath.Clean(c.Log))
	}
}

// startedWords are what was started, in the order of interest.
func startedWords(c *levels.EngineCheck) [][2]string {
	rows := [][2]string{{"kind", c.Kind}, {"launcher", c.Launcher}}
	rows = append(rows, [2]string{"knobs", verdict.Pairs(c.Knobs, " = ", ", ")})
	model := c.Model
	if c.MaxModelLen > 0 {
		model += fmt.Sprintf(" (up to %d tokens)", c.MaxModelLen)
	}
	rows = append(rows, [2]string{"model", model})
	if len(c.Models) > 1 {
		rows = append(rows, [2]string{"models", strings.Join(c.Models, ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Started)) {
		value := c.Started[name]
		switch {
		case name == "kind", name == "command" && c.Started["resolved_command"] != "":
			continue
		case name == "fresh" && value == "no":
			value = "no: without restart it is not started again, and nothing can be compared"
		}
		if !strings.HasPrefix(name, "env.") {
			name = strings.ReplaceAll(name, "_", " ")
		}
		rows = append(rows, [2]string{name, value})
	}
	return rows
}

// observedWords is a value with its unit and source.
func observedWords(o ledger.Observed) string {
	value := o.String()
	if word, ok := o.Value.(string); ok {
		value = word
	}
	return value + "  (" + o.From + ")"
}

// readyAfter is how long something took.
func readyAfter(seconds *float64, otherwise string) string {
	switch {
	case seconds == nil:
		return otherwise
	case *seconds < 1:
		return fmt.Sprintf("after %.1f ms", *seconds*1000)
	}
	return fmt.Sprintf("after %.2f s", *seconds)
}
