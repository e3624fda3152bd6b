package variant

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// engineChecks check a decoded engine for what no single block shows. A new check is one
// line here.
var engineChecks = []func(*plans.Engine) []plans.AttrError{
	checkKind,
	checkContainer,
	checkModel,
	checkExecCommand,
}

// Check runs the checks of every engine.
func Check(e *plans.Engine) (errs []plans.AttrError) {
	for _, check := range engineChecks {
		errs = append(errs, check(e)...)
	}
	return errs
}

// checkContainer rejects a container without an image.
func checkContainer(e *plans.Engine) []plans.AttrError {
	kind, ok := kinds.Lookup(e.Kind)
	if !ok || e.Launch == nil || e.Launch.Kind != "docker" || kind.Image != "" || e.Launch.Attrs["image"] != nil {
		return nil
	}
	return []plans.AttrError{{
		Part: e.Launch, Code: "missing-attribute", Summary: "Missing image",
		Detail: fmt.Sprintf(`An engine of kind %q has no image of its own. Set image in the docker block, such as image = "vllm-dev:latest".`, e.Kind),
	}}
}

// commandParts are the blocks that only an engine of kind command has.
var commandParts = []string{"output", "metric", "run"}

// checkCommand checks an engine of kind command as a whole.
func checkCommand(e *plans.Engine) (errs []plans.AttrError) {
	add := func(part *plans.Block, summary, format string, args ...any) {
		errs = append(errs, plans.AttrError{Part: part, Code: "command-is-no-server", Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	if len(e.Parts["metric"]) == 0 {
		add(nil, "Command without metrics", `Nothing would be measured. Add: metric "tg" { jq = ".tg", unit = "tok/s", better = "higher" }, each on its own line.`)
	}
	if e.ReadyTimeout != 0 {
		add(nil, "Command is not ready", `A command is not a server: it is measured when it has ended. Remove ready, and limit its time with run { timeout = "30m" }.`)
	}
	if e.Launch == nil {
		return errs
	}
	switch e.Launch.Kind {
	case "endpoint":
		add(e.Launch, "Command at an endpoint", `A command is started for every launch, but an endpoint is already running. Start it with process { command = [ … ] }.`)
	case "compose":
		add(e.Launch, "Command in a service", `A service runs until it is stopped, but a command ends on its own. Start it with process, docker or exec.`)
	}
	for _, out := range e.Parts["output"] {
		if file, _ := out.Attrs["file"].(string); file != "" {
			add(out, "File in a container", "The file %q would be left in the container, which is gone when the command has ended. Print the JSON to standard output and remove file.", file)
		}
	}
	return errs
}

// refuseCommandParts rejects the blocks of a command in a server.
func refuseCommandParts(e *plans.Engine) (errs []plans.AttrError) {
	for _, word := range commandParts {
		for _, b := range e.Parts[word] {
			errs = append(errs, plans.AttrError{
				Part: b, Code: "not-a-command", Summary: "Block of a command",
				Detail: fmt.Sprintf(`A %s block belongs to an engine of kind "command", whose output is JSON; a %s is measured by the workloads sent to it. Remove it, or make this engine "command".`, word, e.Kind),
			})
		}
	}
	return errs
}

// checkKind checks an engine of any kind as a whole.
func checkKind(e *plans.Engine) []plans.AttrError {
	if e.IsCommand() {
		return checkCommand(e)
	}
	return refuseCommandParts(e)
}
