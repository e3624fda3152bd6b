package variant

import (
	"path/filepath"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// composePart is an engine that is a service of a compose file.
var composePart = launchPart{
	schema: composeSchema,
	put: func(l *Resolver, d *draft, spec *engine.Spec) ([]string, error) {
		var c composeAttrs
		if err := d.engine.Launch.Decode(&c); err != nil {
			return nil, err
		}
		file := l.Plan.Path(c.File)
		if abs, err := filepath.Abs(file); err == nil {
			file = abs
		}
		spec.Compose = &engine.Compose{
			File: file, Service: c.Service, Profiles: c.Profiles, Image: d.image, Command: c.Command, Port: c.Port,
		}
		return c.Command, nil
	},
}

var composeSchema = plans.Schema{
	Doc: "The engine is a service of a compose file. Every launch is its own compose project, removed when the " +
		"engine is stopped; named volumes stay. Environment, flags and a port on loopback are added by an overlay " +
		"file; in them and in `command`, `{port}` is the port that the service listens on. It needs `docker compose` " +
		"or `docker-compose`.",
	Example: plans.Example(examples, `compose {`),
	Attrs:   plans.Attrs(composeAttrs{}),
	Check: plans.Checked(func(_ *plans.Block, c composeAttrs) []plans.AttrError {
		return checkInContainer(c.Command)
	}),
}

// composeAttrs are the block's attributes by their names in the plan.
type composeAttrs struct {
	File     string   `hcl:"file,optional" default:"compose.yaml" filled:"true" doc:"The compose file, relative to the plan's folder."`
	Service  string   `hcl:"service" filled:"true" doc:"The service that is the engine. Services that it depends on are started before it."`
	Profiles []string `hcl:"profiles,optional" doc:"Profiles of the file to enable."`
	Command  []string `hcl:"command,optional" doc:"Replaces the service's command, before the flags. Without it, flags are appended to the command of the file, or else of the image."`
	Port     int      `hcl:"port,optional" min:"1" max:"65535" doc:"Where the service listens in its container. Without it, the kind's own port."`
}
