package variant

import (
	"path/filepath"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// composePart is an engine that is a service of a compose file.
var composePart = launchPart{schema: composeSchema, put: putCompose}

var composeSchema = plans.Schema{
	Doc: "The engine is a service of a compose file. Every launch is its own compose project, removed when the engine is stopped; named volumes stay. Environment, flags and a port on loopback are added by an overlay file; in them and in `command`, `{port}` is the port that the service listens on. It needs `docker compose` or `docker-compose`.",
	Example: `compose {
  file     = "compose.yaml"
  service  = "vllm"
  profiles = ["gpu"]
}`,
	Attrs: []plans.Attr{
		{Name: "file", Type: plans.String, Default: "compose.yaml", Doc: "The compose file, relative to the plan's folder."},
		{Name: "service", Type: plans.String, Required: true, Doc: "The service that is the engine. Services that it depends on are started before it."},
		{Name: "profiles", Type: plans.Strings, Doc: "Profiles of the file to enable."},
		{Name: "command", Type: plans.Strings, Doc: "Replaces the service's command, before the flags. Without it, flags are appended to the command of the file, or else of the image."},
		{Name: "port", Type: plans.Int, MinSet: true, Min: 1, Max: 65535, Doc: "Where the service listens in its container. Without it, the kind's own port."},
	},
	Check: plans.Checked(func(_ *plans.Block, c composeAttrs) (errs []plans.AttrError) {
		if c.File == "" {
			errs = append(errs, plans.AttrError{Attr: "file", Code: "empty-value", Summary: "Empty file", Detail: "Name the compose file, or leave file out if it is compose.yaml."})
		}
		if c.Service == "" {
			errs = append(errs, plans.AttrError{Attr: "service", Code: "empty-value", Summary: "Empty service", Detail: "Name the service of the compose file that is the engine."})
		}
		return append(errs, checkInContainer(c.Command)...)
	}),
}

// composeAttrs are the block's attributes by their names in the plan.
type composeAttrs struct {
	File     string   `json:"file"`
	Service  string   `json:"service"`
	Profiles []string `json:"profiles"`
	Command  []string `json:"command"`
	Port     int      `json:"port"`
}

// putCompose adds the block to the spec.
func putCompose(l *Resolver, d *draft, spec *engine.Spec) ([]string, error) {
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
}
