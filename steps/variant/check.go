package variant

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// Check checks a decoded engine for what no single block shows.
func Check(e *plans.Engine) (errs []plans.AttrError) {
	launched := func(by string) bool { return e.Launch != nil && e.Launch.Kind == by }
	add := func(part *plans.Block, code, summary, format string, args ...any) {
		errs = append(errs,
			plans.AttrError{Part: part, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	if e.IsCommand() {
		const code = "command-is-no-server"
		if len(e.Parts["metric"]) == 0 {
			add(nil, code, "Command without metrics", `Nothing would be measured. Add: ‹metric "tg" {`+
				"\njq = \".tg\"\nunit = \"tok/s\"\nbetter = \"higher\"\n}›.")
		}
		if e.ReadyTimeout != 0 {
			add(nil, code, "Command is not ready",
				`A command is not a server: it is measured when it has ended. Remove ready, and limit its time with ‹run { timeout = "30m" }›.`)
		}
		if launched("endpoint") {
			add(e.Launch, code, "Command at an endpoint",
				`A command is started for every launch, but an endpoint is already running. Start it with ‹process { command = [ … ] }›.`)
		}
		if launched("compose") {
			add(e.Launch, code, "Command in a service",
				`A service runs until it is stopped, but a command ends on its own. Start it with process, docker or exec.`)
		}
		for _, out := range e.Parts["output"] {
			if file, _ := out.Attrs["file"].(string); file != "" && e.Launch != nil {
				add(out, code, "File in a container",
					"The file %q would be left in the container, which is gone when the command has ended. Print the "+
						"JSON to standard output and remove file.", file)
			}
		}
	} else {
		for _, word := range []string{"output", "metric", "run"} {
			for _, b := range e.Parts[word] {
				add(b, "not-a-command", "Block of a command",
					`A %s block belongs to an engine of kind "command", whose output is JSON; a %s is measured by the workloads sent to it. Remove it, or make this engine "command".`, word, e.Kind)
			}
		}
	}
	const missing = "missing-attribute"
	if kind, ok := kinds.Lookup(e.Kind); ok && launched("docker") && kind.Image == "" &&
		e.Launch.Attrs["image"] == nil {
		add(e.Launch, missing, "Missing image",
			`An engine of kind %q has no image of its own. Set image in the docker block, such as ‹image = "vllm-dev:latest"›.`, e.Kind)
	}
	command := plannedCommand(e)
	if e.Model == "" && kinds.NeedsModel(command) {
		errs = append(errs, plans.AttrError{
			Attr: "model", Code: missing, Summary: "Missing model",
			Detail: fmt.Sprintf("An engine of kind %q is started with the name or path of its model. Add: ‹model = "+
				"\"openai/gpt-oss-20b\"›, or the model to serve.", e.Kind),
		})
	}
	if launched("exec") && len(command) == 0 {
		add(e.Launch, missing, "Missing command",
			"An engine of kind %q has no command of its own. Set command in the exec block, such as ‹command = "+
				"[\"./server\", \"--port\", \"{port}\"]›.", e.Kind)
	}
	return errs
}
