package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// arms are the variants of one feature's benchmark.
type arms struct {
	candidate, parent, root *variant.Variant
}

// distinct lists the variants to launch, parent first: A is the parent and B
// the candidate of ABBA. The baseline is an arm of its own only when a rule
// compares with it and it is not the parent.
func (a arms) distinct(withRoot bool) []*variant.Variant {
	out := []*variant.Variant{a.parent, a.candidate}
	if withRoot && a.root.Key != a.parent.Key && a.root.Key != a.candidate.Key {
		out = append(out, a.root)
	}
	return out
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
	under, name := a.root.Knobs, ledger.Baseline
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
	if f.BuildsOn.Kind == plans.OnBaseline || maps.Equal(under, a.root.Knobs) {
		a.parent = a.root
	} else if a.parent, err = l.Resolve(s, name, on, under); err != nil {
		return a, err
	}
	set, err := l.sets(s, f)
	if err != nil {
		return a, err
	}
	over := maps.Clone(under)
	maps.Copy(over, set)
	a.candidate, err = l.Resolve(s, f.Name, on, over)
	return a, err
}

// rootOn is the baseline on an engine.
func (l *Lab) rootOn(s *runtime.Scope, on string) (*variant.Variant, error) {
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(foreseenRoot(on)); ok {
			return known.(*variant.Variant), nil
		}
	}
	v, err := l.Resolve(s, ledger.Baseline, on, l.Defaults())
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
