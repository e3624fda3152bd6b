package steps

import (
	"fmt"
	"maps"
	"sort"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// variant is an engine with a value for every knob.
type variant struct {
	// name is what people call it: "baseline", "accepted", the feature's name.
	name string
	// knobs is the value of every knob.
	knobs map[string]string
	spec  engine.Spec
	// key is its part of the measurement key.
	key string
}

// arms are the variants of one feature's benchmark.
type arms struct {
	candidate, parent, root *variant
}

// distinct lists the variants to launch, parent first: A is the parent and B
// the candidate of ABBA. The baseline is an arm of its own only when a rule
// compares with it and it is not the parent.
func (a arms) distinct(withRoot bool) []*variant {
	out := []*variant{a.parent, a.candidate}
	if withRoot && a.root.key != a.parent.key && a.root.key != a.candidate.key {
		out = append(out, a.root)
	}
	return out
}

// baseline is the plan's baseline variant.
func (l *Lab) baseline() (*variant, error) {
	return l.resolve("baseline", l.defaults())
}

// defaults is every knob at its default, or as the baseline sets it.
func (l *Lab) defaults() map[string]string {
	knobs := map[string]string{}
	for _, k := range l.Plan.Knobs {
		knobs[k.Name] = k.Default
	}
	maps.Copy(knobs, l.Plan.Baseline.Set)
	return knobs
}

// armsOf resolves a feature's candidate, its parent and the baseline from what
// is accepted so far. It returns runtime.ErrUndecided while that is not known.
func (l *Lab) armsOf(s *runtime.Scope, f *plans.Feature) (a arms, err error) {
	if a.root, err = l.baseline(); err != nil {
		return a, err
	}
	under := maps.Clone(a.root.knobs)
	name := "baseline"
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		name = f.BuildsOn.Feature
		if under, err = l.candidateKnobs(s, l.Plan.Feature(name)); err != nil {
			return a, err
		}
	case plans.OnAccepted:
		if under, err = l.stack(s, f, under); err != nil {
			return a, err
		}
		name = "accepted"
	}
	if maps.Equal(under, a.root.knobs) {
		name = "baseline"
	}
	if a.parent, err = l.resolve(name, under); err != nil {
		return a, err
	}
	over := maps.Clone(under)
	maps.Copy(over, f.Set)
	a.candidate, err = l.resolve(f.Name, over)
	return a, err
}

// candidateKnobs is the knob values of a feature that another one builds on.
func (l *Lab) candidateKnobs(s *runtime.Scope, f *plans.Feature) (map[string]string, error) {
	d := s.Outcome(runtime.FeatureID(f.Name))
	if d == nil || len(d.Variant) == 0 {
		if why := s.LockedBy(runtime.FeatureID(f.Name)); why != "" {
			return nil, fmt.Errorf("feature %s, which this one builds on, was not run: %s", f.Name, why)
		}
		return nil, runtime.ErrUndecided
	}
	return maps.Clone(d.Variant), nil
}

// stack lays the sets of all accepted features over the baseline, in the order
// in which they may enter. A feature that builds on the stack needs all features
// before it, so each of them is settled here; those needs, not the ones of
// whoever asks, say what was under the feature when it was measured.
func (l *Lab) stack(s *runtime.Scope, f *plans.Feature, knobs map[string]string) (map[string]string, error) {
	for _, need := range l.Graph.Node(runtime.QualifyID(f.Name)).Needs {
		name, ok := strings.CutPrefix(need.On, "feature.")
		if !ok || strings.Contains(name, ".") {
			continue
		}
		under := l.Plan.Feature(name)
		d := s.Outcome(need.On)
		if d == nil && s.LockedBy(need.On) == "" {
			return nil, runtime.ErrUndecided
		}
		if under != nil && d != nil && d.Accepted {
			maps.Copy(knobs, under.Set)
		}
	}
	return knobs, nil
}

// resolve applies knob values to the engine of the baseline, knob by knob in
// the order of the plan. A null unsets what the engine block says.
func (l *Lab) resolve(name string, knobs map[string]string) (*variant, error) {
	e := l.Plan.Engine(l.Plan.Baseline.Engine)
	if e == nil {
		return nil, fmt.Errorf("there is no engine %q", l.Plan.Baseline.Engine)
	}
	kind, ok := engine.LookupKind(e.Kind)
	if !ok {
		return nil, fmt.Errorf("unknown engine kind %q", e.Kind)
	}
	env, settings := maps.Clone(e.Env), maps.Clone(e.Settings)
	if env == nil {
		env = map[string]string{}
	}
	if settings == nil {
		settings = map[string]any{}
	}
	args := append([]string(nil), e.Args...)
	unset := map[string]bool{}
	for _, k := range l.Plan.Knobs {
		v := k.Value(knobs[k.Name])
		if v == nil {
			return nil, fmt.Errorf("knob %s has no value %q", k.Name, knobs[k.Name])
		}
		for key, value := range v.Env {
			if delete(unset, key); value == nil {
				delete(env, key)
				unset[key] = true
			} else {
				env[key] = *value
			}
		}
		for key, value := range v.Settings {
			if value == nil {
				delete(settings, key)
			} else {
				settings[key] = value
			}
		}
		args = append(args, v.Args...)
	}
	var command []string
	dir := l.Plan.Dir
	if e.Process != nil {
		command = e.Process.Command
		if e.Process.Dir != "" {
			dir = l.inPlan(e.Process.Dir)
		}
	}
	argv, err := kind.Argv(command, settings, args)
	if err != nil {
		return nil, err
	}
	v := &variant{name: name, knobs: knobs, spec: engine.Spec{
		Kind: e.Kind, Model: e.Model, Command: argv, Dir: dir, Env: env, Unset: keys(unset),
		ReadyTimeout: e.ReadyTimeout, StopGrace: e.StopGrace,
	}}
	v.key = l.variantKey(v.spec)
	return v, nil
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
