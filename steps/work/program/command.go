package program

import (
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// OutVariable names the folder for a program's files.
const OutVariable = "MXFLOW_OUT"

// CheckCommand checks the command of a block that runs one.
func CheckCommand(b *plans.Block) []plans.AttrError {
	command, _ := b.Attrs["command"].([]any)
	if len(command) > 0 {
		if program, _ := command[0].(string); program != "" {
			return nil
		}
	}
	return []plans.AttrError{{
		Attr: "command", Code: "empty-value", Summary: "Empty command",
		Detail: "Name the program first, as in [\"git\", \"tag\", \"backup\"].",
	}}
}

// Finds are the numbers that the metric blocks of a program read.
func Finds(b *plans.Block) (found []plans.LevelResult) {
	for _, m := range b.Parts["metric"] {
		text := func(name string) string { s, _ := m.Attrs[name].(string); return s }
		found = append(found, plans.LevelResult{Name: m.Name, Unit: text("unit"), Better: text("better")})
	}
	return found
}

func NumberReason(s measure.Summary, name string) verdict.Reason {
	return verdict.Say("exec.number", "{subject} {value}", verdict.Num("value", s.Stats["median"], s.Unit)).On(name)
}
