package variant

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// draft is a variant being assembled: the engine block, then knob by knob in plan order.
// A null unsets what is below it.
type draft struct {
	// scope is where the variant is asked for; nil where nobody runs.
	scope  *runtime.Scope
	engine *plans.Engine
	kind   kinds.Kind
	// profiled is set if the plan changed the kind.
	profiled bool
	env      map[string]string
	unset    map[string]bool
	settings map[string]any
	args     []string
	// command replaces the process's, nil if no knob sets one.
	command []string
	// image replaces the launcher's, empty if no knob sets one.
	image string
	// sources are the effective source blocks, the engine's before the knobs'.
	sources []*plans.Block
	// recorded is set if it was started before: its sources are on record.
	recorded bool
}

// Resolver makes variants of a plan's engines and the values of its knobs.
type Resolver struct {
	Plan *plans.Plan
	// Images identifies what a launcher other than a process would start; nil knows
	// nothing.
	Images engine.Identifier
	// MachineKey is the digest of the machine's fingerprint, part of every
	// measurement key.
	MachineKey string
	// KindVersions maps engine kinds that are part of mxflow to their version.
	KindVersions map[string]string
	// Seal replaces sensitive values by marks that differ as the values do.
	Seal *redact.Redactor
	Read source.Reader
	// Opened is what launches on record under a key had open; nil if none are known or they
	// are another machine's.
	Opened func(key string) source.Identity
	// Result reports whether launches on record wrote a file of their command; nil if none
	// are known.
	Result func(path string) bool
	// Since is the run from which on launches count of what cannot be identified.
	Since string

	// base are the knobs of the baseline, ofDefaults is their evidence key and written holds that
	// of other values; changing are those whose values change the engine, and at is where a knob
	// is in the plan.
	defaults, evidence sync.Once
	base               map[string]string
	ofDefaults         string
	written            map[[2]string][]byte
	changing           []int
	at                 map[string]int

	mu sync.Mutex
	// unknown is why engines are not identified, settled the present keys by those without
	// open files, taken what was identified.
	unknown, settled map[string]string
	taken            map[string]identified
}

// Unidentified are the engines so far whose launches of an earlier apply are not reused.
func (l *Resolver) Unidentified() (facts []verdict.Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.unknown)) {
		facts = append(facts, verdict.Say("engine.unidentified",
			"{subject} cannot be identified ({why}): its launches of an earlier apply are not reused, unless "+
				"--reuse says that it is the same",
			verdict.Text("why", l.unknown[name])).On("engine "+name))
	}
	return facts
}

// Resolve applies values of all knobs to an engine of the plan, which is started as
// written if there are none.
func (l *Resolver) Resolve(s *runtime.Scope, name, engineKey string, knobs map[string]string) (*Variant, error) {
	return l.resolve(s,
		&Variant{Arm: decide.Arm{Name: name, Engine: engineKey, Knobs: knobs, Set: l.Plan.ChangedKnobs(knobs)}}, false)
}

// Recorded is the variant of launches recorded under a key, by the plan alone: no file,
// source or image is read, as they may have changed.
func (l *Resolver) Recorded(name, engineKey, key string, knobs map[string]string) (*Variant, error) {
	return l.resolve(nil,
		&Variant{Arm: decide.Arm{
			Name: name, Engine: engineKey, Knobs: knobs, Set: l.Plan.ChangedKnobs(knobs),
			Key: key,
		}}, true)
}

// ResolveWith applies the baseline's knob values to an engine of the plan, except those
// that are set differently.
func (l *Resolver) ResolveWith(s *runtime.Scope, name, engineKey string, set map[string]string) (*Variant, error) {
	fresh := func() (*Variant, error) {
		var knobs map[string]string
		if l.Plan.Baseline != nil {
			knobs = maps.Clone(l.defaultKnobs())
			maps.Copy(knobs, set)
		}
		return l.resolve(s, &Variant{Arm: decide.Arm{Name: name, Engine: engineKey, Knobs: knobs, Set: set}}, false)
	}
	if !s.Planning() {
		return fresh()
	}
	kept, _ := s.Memo.LoadOrStore((*recent)(nil), &recent{})
	latest := kept.(*recent)
	for _, same := range latest.variants {
		if same != nil && same.Engine == engineKey && maps.Equal(same.Set, set) {
			out := *same
			out.Name = name
			return &out, nil
		}
	}
	v, err := fresh()
	if err == nil {
		latest.variants[latest.next] = v
		latest.next = (latest.next + 1) % len(latest.variants)
	}
	return v, err
}

// recent are the variants that a walk resolved last: those of neighbouring nodes are mostly
// the same, and to keep those of all nodes takes memory with the square of a plan.
type recent struct {
	variants [8]*Variant
	next     int
}

// defaultKnobs are the values of the baseline; none without one. They are not the caller's to
// change.
func (l *Resolver) defaultKnobs() map[string]string {
	l.defaults.Do(func() {
		if l.base = map[string]string{}; l.Plan.Baseline != nil {
			l.base = l.Plan.DefaultKnobs()
		}
		l.at, l.written = make(map[string]int, len(l.Plan.Knobs)), map[[2]string][]byte{}
		for i, k := range l.Plan.Knobs {
			if l.at[k.Name] = i; k.Value(l.base[k.Name]).ChangesEngine() {
				l.changing = append(l.changing, i)
			}
		}
	})
	return l.base
}

// relevantKnobs are the knobs in which an arm differs from the baseline, and those whose value
// there changes the engine, in the plan's order.
func (l *Resolver) relevantKnobs(arm decide.Arm) (knobs []*plans.Knob) {
	l.defaultKnobs()
	all := slices.Clone(l.changing)
	for name := range arm.Set {
		if i, known := l.at[name]; known {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	for _, i := range slices.Compact(all) {
		knobs = append(knobs, l.Plan.Knobs[i])
	}
	return knobs
}

// resolve completes a variant whose engine and knobs are known.
func (l *Resolver) resolve(s *runtime.Scope, v *Variant, recorded bool) (*Variant, error) {
	e := l.Plan.Engine(v.Engine)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", v.Engine)
	}
	d, err := l.draft(e, v.Arm)
	if err != nil {
		return nil, err
	}
	d.scope, d.recorded = s, recorded
	if v.Spec, err = l.spec(d); err != nil {
		return nil, err
	}
	gpu, err := GPUOf(e.Parts["gpu"])
	if err != nil {
		return nil, err
	}
	gpus := gpu.Devices != nil && gpu.visible() != "" || v.Spec.Docker != nil && v.Spec.Docker.GPUs != nil
	v.Uses = d.kind.Uses(d.settings, gpus)
	if v.Command, err = commandOf(e); err != nil || recorded {
		return v, err
	}
	if v.ModelConfig, v.ModelConfigAt, err = l.modelConfig(e); err != nil {
		return nil, err
	}
	if v.Profiler, err = ProfilerOf(e); err != nil {
		return nil, err
	}
	v.Key = l.variantKey(runtime.ContextOf(s), v.Spec)
	if v.Command != nil {
		v.Key = runtime.Digest(v.Key, v.Command)
	}
	if own := e.Parts["observe"]; len(own) > 0 {
		// A launch that did not look for it does not know it.
		var parts []any
		for _, b := range own {
			parts = append(parts, b.Name, b.Attrs)
		}
		v.Key = l.SecretDigest(v.Key, "observe", parts)
	}
	if why := WhyUnidentified(v.Spec); why != "" {
		l.mu.Lock()
		if l.unknown == nil {
			l.unknown = map[string]string{}
		}
		l.unknown[v.Engine] = why
		l.mu.Unlock()
	}
	l.UpdateKey(v)
	v.evidence = l.EvidenceKey(v)
	return v, nil
}

// draft applies the values of an arm's knobs to an engine, in the plan's order: those of the
// baseline, except where the arm differs.
func (l *Resolver) draft(e *plans.Engine, arm decide.Arm) (*draft, error) {
	kind, ok := kinds.Lookup(e.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown engine kind %q", e.Kind)
	}
	kind, profiled, err := changedKind(e, kind)
	if err != nil {
		return nil, err
	}
	d := &draft{
		engine: e, kind: kind, profiled: profiled, env: make(map[string]string, len(e.Env)+len(arm.Set)),
		unset: map[string]bool{}, settings: maps.Clone(e.Settings),
		args: slices.Clone(e.Args), sources: slices.Clone(e.Parts["source"]),
	}
	maps.Copy(d.env, e.Env)
	if d.settings == nil {
		d.settings = map[string]any{}
	}
	if arm.Knobs == nil {
		return d, nil // the engine as written
	}
	for _, k := range l.relevantKnobs(arm) {
		value, set := arm.Knobs[k.Name]
		if k.Arms && !set {
			continue // as the plan itself
		}
		v := k.Value(value)
		if v == nil {
			return nil, fmt.Errorf("knob %s has no value %q", k.Name, value)
		}
		d.apply(v)
	}
	return d, nil
}

// apply overlays one knob value on the draft.
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
	if spec.Config, err = applied.Render(); err != nil {
		return spec, err
	}
	if spec.Config != nil {
		spec.ConfigName = d.kind.ConfigName
	}
	// The engine's environment is over that of the kind and its settings.
	spec.Env = make(map[string]string, len(d.env))
	maps.Copy(spec.Env, d.kind.Env)
	maps.Copy(spec.Env, applied.Env)
	for name := range d.unset {
		delete(spec.Env, name)
	}
	maps.Copy(spec.Env, d.env)
	if err := showGPUs(e, &spec); err != nil {
		return spec, err
	}
	command := d.kind.Command
	switch {
	case e.Process != nil:
		command, spec.Port = e.Process.Command, e.Process.Port
		if e.Process.Dir != "" {
			if spec.Dir = e.Process.Dir; !engine.Marked(spec.Dir) {
				spec.Dir = l.Plan.Path(spec.Dir)
			}
		}
	case e.Launch != nil:
		part, ok := launchParts[e.Launch.Kind]
		if !ok {
			return spec, fmt.Errorf("unknown launcher %q", e.Launch.Kind)
		}
		if command, err = part.put(l, d, &spec); err != nil {
			return spec, err
		}
	}
	if d.command != nil {
		if spec.How() != engine.HowProcess {
			return spec,
				fmt.Errorf("a knob sets command, but engine %s.%s is not started as a process: set the command where "+
					"it is launched, and differences by env, args or image", e.Kind, e.Name)
		}
		command = d.command
	}
	if !d.recorded {
		if err := l.provenance(d, &spec); err != nil {
			return spec, err
		}
	}
	if len(command) == 0 && spec.How() == engine.HowProcess {
		return spec, fmt.Errorf("engine kind %q has no command of its own: set one in the plan", d.kind.Name)
	}
	host, model := spec.How().Host(), modelFor(&spec, command)
	for _, arg := range slices.Concat(command, applied.Flags, d.args) {
		spec.Command = append(spec.Command, kinds.Fill(arg, model, host))
	}
	for name, value := range spec.Env {
		if filled := kinds.Fill(value, model, host); filled != value {
			spec.Env[name] = filled
		}
	}
	if len(spec.Sources) == 1 {
		spec.PutMark("{source}", engine.SourceMark(spec.Sources[0].Name))
	}
	if !d.recorded {
		l.identify(d, &spec)
	}
	if d.kind.AskModel {
		spec.Model = ""
	}
	if name, ok := d.settings["served_model_name"].(string); ok {
		spec.Model = name
	}
	return spec, nil
}

func (l *Resolver) Baseline(s *runtime.Scope) (*Variant, error) {
	return l.Resolve(s, ledger.Baseline, l.Plan.Baseline.Engine, l.Plan.DefaultKnobs())
}

// BaselineSpec is what a launch of the baseline would start. Nothing is started, and no image
// or program is read.
func (l *Resolver) BaselineSpec() (engine.Spec, error) {
	d, err := l.draft(l.Plan.Engine(l.Plan.Baseline.Engine), decide.Arm{Knobs: l.defaultKnobs()})
	if err != nil {
		return engine.Spec{}, err
	}
	return l.spec(d)
}
