package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps"
)

// startedWords are what was started, in the order in which people look for it.
func startedWords(c *steps.EngineCheck) [][2]string {
	rows := [][2]string{{"kind", c.Kind}, {"launcher", c.Launcher}}
	var knobs []string
	for _, name := range slices.Sorted(maps.Keys(c.Knobs)) {
		knobs = append(knobs, name+" = "+c.Knobs[name])
	}
	rows = append(rows, [2]string{"knobs", strings.Join(knobs, ", ")})
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
			value = "no: without restart it is not started anew, and nothing can be compared"
		}
		if !strings.HasPrefix(name, "env.") {
			name = strings.ReplaceAll(name, "_", " ")
		}
		rows = append(rows, [2]string{name, value})
	}
	return rows
}

// observedWords is a value with its unit and where it was seen.
func observedWords(o ledger.Observed) string {
	value := o.String()
	if word, ok := o.Value.(string); ok {
		value = word
	}
	return value + "  (" + o.From + ")"
}

// after says how long something took.
func after(seconds *float64, otherwise string) string {
	switch {
	case seconds == nil:
		return otherwise
	case *seconds < 1:
		return fmt.Sprintf("after %.1f ms", *seconds*1000)
	}
	return fmt.Sprintf("after %.2f s", *seconds)
}
