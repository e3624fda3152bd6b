package variant

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/plans"
)

// portNotTaken warns of a process that is to listen on a port that nothing in its command
// takes.
func portNotTaken(p *plans.Plan, e *plans.Engine) (warnings []plans.AttrError) {
	kind := EngineKind(e)
	if e.Process == nil || e.Process.Port != 0 || len(kind.Ready) == 0 {
		return nil
	}
	commands := [][]string{e.Process.Command}
	for _, k := range p.Knobs {
		for _, v := range k.Values {
			if len(v.Command) > 0 {
				commands = append(commands, v.Command)
			}
		}
	}
	// What a command gets beside its words, in whatever variant.
	beside, _ := json.Marshal([]any{e.Args, e.Env, e.Settings, kind.Env, p.Knobs})
	for _, command := range commands {
		if (source.Command{Words: append(slices.Clone(command), string(beside)), Dir: p.Abs(e.Process.Dir)}).TakesPort(
			source.PortVariable) {
			continue
		}
		remedy := `Pass it on, as in ‹"--port", "{port}"›, or name the port that the server always listens on in its process block: ‹port = 8000›.`
		if port := (source.Command{Words: slices.Concat(command, e.Args)}).FixedPort(); port != 0 {
			remedy = fmt.Sprintf("Write {port} in place of %d, or add to its process block: ‹port = %[1]d›.", port)
		}
		warnings = append(warnings, plans.AttrError{
			Code: "port-not-taken", Summary: "Nothing takes the port",
			Detail: fmt.Sprintf("Each launch of engine.%s.%s gets a free port, but neither {port} nor $%s is in its "+
				"command or in a script that it runs. %s",
				e.Kind, e.Name, source.PortVariable, remedy),
		})
	}
	return warnings
}
