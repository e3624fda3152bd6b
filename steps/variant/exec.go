package variant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// execPart is an engine that is a command in a running container.
var execPart = launchPart{schema: execSchema, put: func(_ *Resolver, d *draft, spec *engine.Spec) ([]string, error) {
	var x engine.Exec
	if err := d.engine.Launch.Decode(&x); err != nil {
		return nil, err
	}
	if d.image != "" {
		return nil, fmt.Errorf("engine %s.%s runs in an existing container: a knob's image cannot reach it",
			d.engine.Kind, d.engine.Name)
	}
	spec.Exec = &x
	if x.Command != nil {
		return x.Command, nil
	}
	if len(d.kind.Command) == 0 {
		return nil, fmt.Errorf("engine kind %q has no command of its own: set command in the exec block", d.kind.Name)
	}
	return d.kind.Command, nil
}}

var execSchema = plans.Schema{
	Doc: "The engine is a command inside a running container. That can be the one for kernel development. It is " +
		"stopped with everything that it started; the container keeps running, and needs `sh` and `grep`. Requests " +
		"go to a port that the container publishes, to the host's network if shared, or to the container's own " +
		"address (not with a remote daemon).",
	Example: plans.Example(examples, `exec {`),
	Attrs: []plans.Attr{
		{Name: "container", Type: plans.String, Required: true, Filled: true, Doc: "Name or ID of the container."},
		{
			Name: "command", Type: plans.Strings,
			Doc: "The program in the container and its arguments; no shell. The flags come after them. Without it, " +
				"the kind's own. `{port}` is replaced by the port to listen on, `{config}` by the path of the kind's " +
				"configuration file.",
		},
		{Name: "workdir", Type: plans.String, Doc: "Working directory in the container. Without it, the container's."},
		{
			Name: "user", Type: plans.String,
			Doc: "User of the engine: name or number, optionally with `:group`. Without it, the container's.",
		},
		{
			Name: "port", Type: plans.Int, MinSet: true, Min: 1, Max: 65535,
			Doc: "Where the engine listens in the container. Without it, a port that the container publishes, or " +
				"else any free one.",
		},
	},
	Check: plans.Checked(func(b *plans.Block, x engine.Exec) (errs []plans.AttrError) {
		if _, given := b.Attrs["command"]; given && (len(x.Command) == 0 || x.Command[0] == "") {
			errs = append(errs, plans.AttrError{
				Attr: "command", Code: "empty-value", Summary: "Empty command",
				Detail: "Name the program first, or leave command out if the kind has its own.",
			})
		}
		return append(errs, checkInContainer(x.Command)...)
	}),
}

// checkInContainer checks a command that runs in a container.
func checkInContainer(command []string) []plans.AttrError {
	if !slices.ContainsFunc(command, func(arg string) bool { return strings.Contains(arg, "{mxflow}") }) {
		return nil
	}
	return []plans.AttrError{{
		Attr: "command", Code: "invalid-value", Summary: "Invalid command",
		Detail: "{mxflow} is the path of a program on this machine, which is not in the container; name a program of " +
			"the container.",
	}}
}
