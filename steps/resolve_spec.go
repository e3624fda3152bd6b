package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
)

// spec is the draft as the engine package starts it.
func (l *Resolver) spec(d *draft) (engine.Spec, error) {
	e := d.engine
	spec := engine.Spec{
		Kind: e.Kind, Model: e.Model, Dir: l.Plan.Dir, Unset: slices.Sorted(maps.Keys(d.unset)),
		ReadyTimeout: e.ReadyTimeout, StopGrace: e.StopGrace,
	}
	applied, err := d.kind.Apply(d.settings)
	if err != nil {
		return spec, err
	}
	if d.profiled {
		spec.Profile = &d.kind
	}
	if spec.Config, err = applied.Render(d.kind); err != nil {
		return spec, err
	}
	if spec.Config != nil {
		spec.ConfigName = d.kind.ConfigName
	}
	spec.Env = d.environment(applied.Env)
	if err := showGPUs(e, &spec); err != nil {
		return spec, err
	}
	command := d.kind.Command
	switch {
	case e.Process != nil:
		command, spec.Port = e.Process.Command, e.Process.Port
		if e.Process.Dir != "" {
			if spec.Dir = e.Process.Dir; !strings.HasPrefix(spec.Dir, sourceMark) {
				spec.Dir = l.Plan.Path(spec.Dir)
			}
		}
	case e.Launch != nil:
		if command, err = l.launchPart(d, &spec); err != nil {
			return spec, err
		}
	}
	if d.command != nil {
		if spec.How() != engine.HowProcess {
			return spec, fmt.Errorf("a knob sets command, and engine %s.%s is not started as a process: set the command where it is launched, and what differs in env, args or image", e.Kind, e.Name)
		}
		command = d.command
	}
	if err := l.provenance(d, &spec); err != nil {
		return spec, err
	}
	if len(command) == 0 && spec.How() == engine.HowProcess {
		return spec, fmt.Errorf("engine kind %q has no command of its own: the plan must give one", d.kind.Name)
	}
	fillIn(&spec, command, slices.Concat(applied.Flags, d.args))
	if d.kind.AskModel {
		spec.Model = ""
	}
	if name, ok := d.settings["served_model_name"].(string); ok {
		spec.Model = name
	}
	return spec, nil
}

// fillIn puts a command together with the flags behind it, and the model and the
// host in the places that the command and the environment have for them.
func fillIn(spec *engine.Spec, command, flags []string) {
	host := spec.How().Host()
	model := modelFor(spec, command)
	for _, arg := range slices.Concat(command, flags) {
		spec.Command = append(spec.Command, kinds.Fill(arg, model, host))
	}
	for name, value := range spec.Env {
		spec.Env[name] = kinds.Fill(value, model, host)
	}
}

// environment is the engine's, over what the kind and its settings set.
func (d *draft) environment(settings map[string]string) map[string]string {
	env := map[string]string{}
	maps.Copy(env, d.kind.Env)
	if d.engine.Launch != nil && d.engine.Launch.Kind == "docker" {
		maps.Copy(env, d.kind.Container.Env)
	}
	maps.Copy(env, settings)
	for name := range d.unset {
		delete(env, name)
	}
	maps.Copy(env, d.env)
	return env
}

// launchPart puts the launcher's block into the spec and returns the command
// that flags are appended to.
func (l *Resolver) launchPart(d *draft, spec *engine.Spec) ([]string, error) {
	part, ok := launchParts[d.engine.Launch.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown launcher %q", d.engine.Launch.Kind)
	}
	return part.put(l, d, spec)
}
