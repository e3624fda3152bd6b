package steps

import (
	"maps"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// variant is an engine with a value for every knob.
type variant struct {
	// name is what people call it: "baseline", "accepted", the feature's name.
	name string
	// engine is the engine block, "kind.name".
	engine string
	// knobs is the value of every knob.
	knobs map[string]string
	spec  engine.Spec
	// command is what an engine of kind command prints; nil for a server.
	command *command
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
func (l *Resolver) baseline(s *runtime.Scope) (*variant, error) {
	return l.resolve(s, ledger.Baseline, l.Plan.Baseline.Engine, l.defaults())
}

// defaults is every knob at its default, or as the baseline sets it.
func (l *Resolver) defaults() map[string]string {
	knobs := map[string]string{}
	for _, k := range l.Plan.Knobs {
		knobs[k.Name] = k.Default
	}
	maps.Copy(knobs, l.Plan.Baseline.Set)
	return knobs
}

// armsOf resolves a feature's candidate, its parent and the baseline from what
// is accepted so far, on the engine that the feature is measured on. It returns
// runtime.ErrUndecided while that is not known.
func (l *Lab) armsOf(s *runtime.Scope, f *plans.Feature) (a arms, err error) {
	key := foreseenArms{feature: f}
	if f.BuildsOn.Kind != plans.OnBaseline || f.Of != "" || f.Choose != nil {
		key.node = s.Node // it depends on what has come out until then
	}
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(key); ok {
			return known.(arms), nil
		}
	}
	if a, err = l.resolveArms(s, f); err == nil && s.Foreseen != nil {
		s.Foreseen.Store(key, a)
	}
	return a, err
}

// foreseenArms and foreseenRoot are the keys by which a preview keeps variants: of
// a feature as a node sees it, and the baseline on an engine.
type (
	foreseenArms struct {
		feature *plans.Feature
		node    *runtime.Node
	}
	foreseenRoot string
)

func (l *Lab) resolveArms(s *runtime.Scope, f *plans.Feature) (a arms, err error) {
	if f, err = l.standsFor(s, f); err != nil {
		return a, err
	}
	on := f.Engine
	if on == "" {
		on = l.Plan.Baseline.Engine
	}
	if a.root, err = l.rootOn(s, on); err != nil {
		return a, err
	}
	under, name := a.root.knobs, ledger.Baseline
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		name = f.BuildsOn.Feature
		if under, err = l.candidateKnobs(s, l.Plan.Feature(name)); err != nil {
			return a, err
		}
	case plans.OnAccepted:
		if under, err = l.stack(s, f, maps.Clone(under)); err != nil {
			return a, err
		}
		name = "accepted"
	}
	if f.BuildsOn.Kind == plans.OnBaseline || maps.Equal(under, a.root.knobs) {
		a.parent = a.root
	} else if a.parent, err = l.resolve(s, name, on, under); err != nil {
		return a, err
	}
	set, err := l.sets(s, f)
	if err != nil {
		return a, err
	}
	over := maps.Clone(under)
	maps.Copy(over, set)
	a.candidate, err = l.resolve(s, f.Name, on, over)
	return a, err
}

// rootOn is the baseline on an engine.
func (l *Lab) rootOn(s *runtime.Scope, on string) (*variant, error) {
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(foreseenRoot(on)); ok {
			return known.(*variant), nil
		}
	}
	v, err := l.resolve(s, ledger.Baseline, on, l.defaults())
	if err == nil && s.Foreseen != nil {
		s.Foreseen.Store(foreseenRoot(on), v)
	}
	return v, err
}

// candidateKnobs is the knob values of a feature that another one builds on.
func (l *Lab) candidateKnobs(s *runtime.Scope, f *plans.Feature) (map[string]string, error) {
	d := s.Outcome(runtime.FeatureID(f.Name))
	if d == nil || len(d.Variant) == 0 {
		if why := s.LockedBy(runtime.FeatureID(f.Name)); !why.IsZero() {
			return nil, &verdict.Fault{Reason: verdict.New(code.FeatureNotRun).On(f.Name).From(why)}
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
		n := l.Graph.Node(need.On)
		if n == nil || n.Kind != runtime.KindFeature {
			continue
		}
		d := s.Outcome(need.On)
		if d == nil && s.LockedBy(need.On).IsZero() {
			return nil, runtime.ErrUndecided
		}
		if d != nil && d.Accepted {
			maps.Copy(knobs, enters(n.FeatureBlock, d))
		}
	}
	return knobs, nil
}
