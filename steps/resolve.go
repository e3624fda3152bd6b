package steps

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
)

// draft is a variant while it is put together: the engine block, then knob by
// knob in the order of the plan. A null unsets what stands under it.
type draft struct {
	// scope is where the variant is asked for; nil where nobody runs.
	scope  *runtime.Scope
	engine *plans.Engine
	kind   kinds.Kind
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

// Resolver makes variants of a plan's engines and the values of its knobs.
type Resolver struct {
	Plan *plans.Plan
	// Images says what a launcher would start that is no process; nil knows nothing.
	Images engine.Identifier
	// MachineKey is the digest of the machine's fingerprint, part of every
	// measurement key.
	MachineKey string
	// KindVersions maps engine kinds that are part of mxflow to their version.
	KindVersions map[string]string
	// Seal puts marks in the place of sensitive values that differ as the values do.
	Seal *redact.Redactor

	mu       sync.Mutex
	programs map[string]programSum
}

// resolve applies knob values to an engine of the plan.
func (l *Resolver) resolve(s *runtime.Scope, name, engineKey string, knobs map[string]string) (*variant, error) {
	e := l.Plan.Engine(engineKey)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", engineKey)
	}
	d, err := l.draft(e, knobs)
	if err != nil {
		return nil, err
	}
	d.scope = s
	spec, err := l.spec(d)
	if err != nil {
		return nil, err
	}
	v := &variant{name: name, engine: engineKey, knobs: knobs, spec: spec}
	v.key = l.variantKey(runtime.ContextOf(s), v.spec)
	if v.command, err = commandOf(e); err != nil {
		return nil, err
	}
	if v.command != nil {
		v.key = runtime.Digest(v.key, v.command)
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

func (l *Resolver) draft(e *plans.Engine, knobs map[string]string) (*draft, error) {
	kind, ok := kinds.Lookup(e.Kind)
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
