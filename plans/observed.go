package plans

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/engine/measure"
)

// Observed is one thing that an engine says of itself, as rules read it:
// engine.observed.<name>.
type Observed struct {
	Name string
	// Type is "string", "number", "bool" or "count".
	Type string
	// Unit of a number; empty is a plain number.
	Unit string
	Doc  string
}

// underTest is the engine that everything is compared on; nil where the plan
// names none.
func (p *Plan) underTest() *Engine {
	if p.Baseline == nil {
		return nil
	}
	return p.Engine(p.Baseline.Engine)
}

func findObserved(list []Observed, name string) (found Observed, names []string, ok bool) {
	for _, o := range list {
		if o.Name == name {
			return o, nil, true
		}
		names = append(names, o.Name)
	}
	return Observed{}, names, false
}

// observed resolves engine.observed.<name>. A word or a truth is one value; a
// number is a metric of the launch, whose values launches differ in.
func (ns *namespace) observed(in *Input, rest []string) (*Input, *ruleError) {
	e := ns.plan.underTest()
	if e == nil {
		return nil, wrong("Unknown observation", "engine.observed is what the baseline's engine says of itself, and the plan has no baseline.")
	}
	if len(rest) < 1 {
		_, names, _ := findObserved(e.Observed, "")
		return nil, wrong("Incomplete address", "Write engine.observed.<name>, with one of %s.", orNothing(names))
	}
	o, names, ok := findObserved(e.Observed, rest[0])
	if !ok {
		return nil, wrong("Unknown observation", "Nothing called %q is observed of engine.%s.%s.%s To observe it, add to the engine: observe %q { log = \"…\" }.", rest[0], e.Kind, e.Name, suggest(rest[0], names), rest[0])
	}
	if ty := inputType(o.Type); ty != NumberInput {
		if len(rest) > 1 {
			return nil, wrong("Unknown address", "%s is a %s, so nothing stands below it; %q is too much.", in.Path, ty, rest[1])
		}
		in.Kind, in.Name, in.Type = InputObserved, o.Name, ty
		return in, nil
	}
	return ns.metric(in, "", measure.Metric{Name: "observed." + o.Name, Unit: o.Unit, Scope: measure.PerLaunch}, rest[1:])
}

// unobserved refuses a metric that is an observation, where the engine does not
// say it.
func (ns *namespace) unobserved(m measure.Metric) *ruleError {
	e := ns.plan.underTest()
	if !m.Observed || e == nil {
		return nil
	}
	if o, _, ok := findObserved(e.Observed, m.Name); ok && o.Unit == m.Unit && inputType(o.Type) == NumberInput {
		return nil
	}
	return wrong("Not observed", "engine.%s is what the engine says of itself, and nothing of that name is observed of engine.%s.%s in %s. Add to the engine: observe %q { log = \"…\", type = \"number\", unit = %q }, each on its own line.", m.Name, e.Kind, e.Name, m.Unit, m.Name, m.Unit)
}

// inputType is what a rule sees of an observation.
func inputType(ty string) InputType {
	switch ty {
	case "string":
		return WordInput
	case "bool":
		return BoolInput
	}
	return NumberInput
}

// observedName is a place where a knob names an observation.
type observedName struct {
	name string
	at   hcl.Range
	// value is what it should be; null where any will do.
	value   cty.Value
	valueAt hcl.Range
}

// checkObserved looks at the observations that knobs name. A knob belongs to no
// engine in particular, so one of them has to have it.
func (l *loader) checkObserved() {
	var all []Observed
	for _, e := range l.plan.Engines {
		all = append(all, e.Observed...)
	}
	for _, n := range l.checks.observed {
		o, names, ok := findObserved(all, n.name)
		if !ok {
			slices.Sort(names)
			l.fail(n.at, "Unknown observation", "No engine of the plan says anything called %q of itself.%s To observe it, add to the engine: observe %q { log = \"…\" }.", n.name, l.didYouMean(n.name, slices.Compact(names)), n.name)
			continue
		}
		want := map[InputType]cty.Type{WordInput: cty.String, BoolInput: cty.Bool, NumberInput: cty.Number}[inputType(o.Type)]
		if n.value != cty.NilVal && n.value.Type() != want {
			l.fail(n.valueAt, "Wrong type for observed", "%s is a %s; this is %s.", n.name, o.Type, describe(n.value))
		}
	}
}

// decodeObserved reads what observations must or must not say.
func (l *loader) decodeObserved(f *body) map[string]any {
	var want map[string]any
	for _, p := range f.pairs("observed") {
		if p.v.IsNull() {
			continue
		}
		if !p.v.Type().IsPrimitiveType() {
			l.fail(p.at, "Wrong type for observed", "%s takes one value, such as \"marlin\", true or 2; this is %s.", p.key, describe(p.v))
			continue
		}
		l.checks.observed = append(l.checks.observed, observedName{p.key, p.keyAt, p.v, p.at})
		if want == nil {
			want = map[string]any{}
		}
		want[p.key] = plain(p.v)
	}
	return want
}

// changesOf reads the observations that a knob's values are expected to change.
func (l *loader) changesOf(f *body) []string {
	names := f.texts("changes")
	for _, name := range names {
		l.checks.observed = append(l.checks.observed, observedName{name: name, at: f.at("changes")})
	}
	return names
}
