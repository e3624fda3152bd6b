package steps

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// draft is a variant while it is put together: the engine block, then knob by
// knob in the order of the plan. A null unsets what stands under it.
type draft struct {
	engine *plans.Engine
	kind   engine.Kind
	// profiled says that the plan changed the kind.
	profiled bool
	env      map[string]string
	unset    map[string]bool
	settings map[string]any
	args     []string
	// command replaces that of the process, nil where no knob does.
	command []string
	// image replaces the launcher's, empty where no knob does.
	image string
	// sources are the source blocks that hold, the engine's before the knobs'.
	sources []*plans.Block
}

// resolve applies knob values to an engine of the plan.
func (l *Lab) resolve(name, engineKey string, knobs map[string]string) (*variant, error) {
	e := l.Plan.Engine(engineKey)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", engineKey)
	}
	d, err := l.draft(e, knobs)
	if err != nil {
		return nil, err
	}
	spec, err := l.spec(d)
	if err != nil {
		return nil, err
	}
	v := &variant{name: name, engine: engineKey, knobs: knobs, spec: spec}
	v.key = l.variantKey(v.spec)
	if v.command, err = commandOf(e); err != nil {
		return nil, err
	}
	if v.command != nil {
		v.key = digest(v.key, v.command)
	}
	if own := e.Parts["observe"]; len(own) > 0 {
		// A launch that did not look for it does not know it.
		v.key = l.sealed(v.key, "observe", observedKey(own))
	}
	if own := e.Parts["profile"]; len(own) > 0 && own[0].Attrs["log"] != nil {
		v.key = l.sealed(v.key, "profile", own[0].Attrs["log"])
	}
	return v, nil
}

func (l *Lab) draft(e *plans.Engine, knobs map[string]string) (*draft, error) {
	kind, ok := engine.LookupKind(e.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown engine kind %q", e.Kind)
	}
	kind, profiled, err := changedKind(e, kind)
	if err != nil {
		return nil, err
	}
	d := &draft{
		engine: e, kind: kind, profiled: profiled, env: maps.Clone(e.Env), unset: map[string]bool{}, settings: maps.Clone(e.Settings),
		args: slices.Clone(e.Args), sources: slices.Clone(e.Parts["source"]),
	}
	if d.env == nil {
		d.env = map[string]string{}
	}
	if d.settings == nil {
		d.settings = map[string]any{}
	}
	for _, k := range l.Plan.Knobs {
		if knobs == nil {
			break // the engine as it is written
		}
		v := k.Value(knobs[k.Name])
		if v == nil {
			return nil, fmt.Errorf("knob %s has no value %q", k.Name, knobs[k.Name])
		}
		d.apply(v)
	}
	return d, nil
}

// apply lays one knob value over the draft.
func (d *draft) apply(v *plans.KnobValue) {
	for key, value := range v.Env {
		if delete(d.unset, key); value == nil {
			delete(d.env, key)
			d.unset[key] = true
		} else {
			d.env[key] = *value
		}
	}
	for key, value := range v.Settings {
		if value == nil {
			delete(d.settings, key)
		} else {
			d.settings[key] = value
		}
	}
	d.args = append(d.args, v.Args...)
	if len(v.Command) > 0 {
		d.command = v.Command
	}
	if v.Image != "" {
		d.image = v.Image
	}
	d.sources = append(d.sources, v.Parts["source"]...)
}

// spec is the draft as the engine package starts it.
func (l *Lab) spec(d *draft) (engine.Spec, error) {
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
			spec.Dir = l.inPlan(e.Process.Dir)
		}
	case e.Launch != nil:
		if command, err = l.launchPart(d, &spec); err != nil {
			return spec, err
		}
	}
	if d.command != nil {
		if spec.How() != "process" {
			return spec, fmt.Errorf("a knob sets command, and engine %s.%s is not started as a process: set the command where it is launched, and what differs in env, args or image", e.Kind, e.Name)
		}
		command = d.command
	}
	if err := l.provenance(d, &spec); err != nil {
		return spec, err
	}
	if len(command) == 0 && spec.How() == "process" {
		return spec, fmt.Errorf("engine kind %q has no command of its own: the plan must give one", d.kind.Name)
	}
	host := engine.Host(spec.How())
	model := modelFor(&spec, command)
	for _, arg := range slices.Concat(command, applied.Flags, d.args) {
		spec.Command = append(spec.Command, engine.Fill(arg, model, host))
	}
	for name, value := range spec.Env {
		spec.Env[name] = engine.Fill(value, model, host)
	}
	if d.kind.AskModel {
		spec.Model = ""
	}
	if name, ok := d.settings["served_model_name"].(string); ok {
		spec.Model = name
	}
	return spec, nil
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
func (l *Lab) launchPart(d *draft, spec *engine.Spec) ([]string, error) {
	part, ok := launchParts[d.engine.Launch.Kind]
	if !ok {
		return nil, fmt.Errorf("unknown launcher %q", d.engine.Launch.Kind)
	}
	return part.put(l, d, spec)
}
