package program

import "github.com/mxflow/mxflow/plans"

// CheckCommand looks at the command of a block that runs one.
func CheckCommand(b *plans.Block) []plans.AttrError {
	command, _ := b.Attrs["command"].([]any)
	if len(command) > 0 {
		if program, _ := command[0].(string); program != "" {
			return nil
		}
	}
	return []plans.AttrError{{Attr: "command", Code: "empty-value", Summary: "Empty command", Detail: "Name the program first, as in [\"git\", \"tag\", \"backup\"]."}}
}
