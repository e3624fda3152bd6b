package launch

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// Arms are the variants of one feature's benchmark.
type Arms struct {
	Candidate, Parent, Root *variant.Variant
}

// Distinct lists the variants to launch, parent first: A is the parent and B
// the candidate of ABBA. The baseline is an arm of its own only when a rule
// compares with it and it is not the parent.
func (a Arms) Distinct(withRoot bool) []*variant.Variant {
	out := []*variant.Variant{a.Parent, a.Candidate}
	if withRoot && a.Root.Key != a.Parent.Key && a.Root.Key != a.Candidate.Key {
		out = append(out, a.Root)
	}
	return out
}

// Arms resolves a feature's candidate, its parent and the baseline from what
// is accepted so far, on the engine that the feature is measured on. It returns
// runtime.ErrUndecided while that is not known.
func (l *Lab) Arms(s *runtime.Scope, f *plans.Feature) (a Arms, err error) {
	key := foreseenArms{feature: f}
	if f.BuildsOn.Kind != plans.OnBaseline || f.Of != "" || f.Choose != nil {
		key.node = s.Node // it depends on what has come out until then
	}
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(key); ok {
			return known.(Arms), nil
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

func (l *Lab) resolveArms(s *runtime.Scope, f *plans.Feature) (a Arms, err error) {
	planned, err := decide.ArmsOf(l.View(s), f)
	if err != nil {
		return a, err
	}
	if a.Root, err = l.rootOn(s, planned.Root); err != nil {
		return a, err
	}
	if a.Parent = a.Root; planned.Parent.Name != planned.Root.Name {
		if a.Parent, err = l.ResolveWith(s, planned.Parent.Name, planned.Parent.Engine, planned.Parent.Set); err != nil {
			return a, err
		}
	}
	a.Candidate, err = l.ResolveWith(s, planned.Candidate.Name, planned.Candidate.Engine, planned.Candidate.Set)
	return a, err
}

// rootOn is the baseline on an engine.
func (l *Lab) rootOn(s *runtime.Scope, root decide.Arm) (*variant.Variant, error) {
	key := foreseenRoot(root.Engine)
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(key); ok {
			return known.(*variant.Variant), nil
		}
	}
	v, err := l.ResolveWith(s, root.Name, root.Engine, root.Set)
	if err == nil && s.Foreseen != nil {
		s.Foreseen.Store(key, v)
	}
	return v, err
}

// Keyed are arms as deciding knows them.
func (a Arms) Keyed() decide.Arms {
	arm := func(v *variant.Variant) decide.Arm {
		return decide.Arm{Name: v.Name, Engine: v.Engine, Set: v.Set, Key: v.Key, Knobs: v.Knobs}
	}
	return decide.Arms{Candidate: arm(a.Candidate), Parent: arm(a.Parent), Root: arm(a.Root)}
}

// View is what a decision may see in an apply.
func (l *Lab) View(s *runtime.Scope) *decide.View {
	v := &decide.View{
		Plan: l.Plan, Graph: l.Graph, Outcome: s.Outcome, LockedBy: s.LockedBy, OnSeenData: l.OnSeenData, Goals: l.goals,
		Arms: func(f *plans.Feature) (decide.Arms, error) {
			a, err := l.Arms(s, f)
			if err != nil {
				return decide.Arms{}, err
			}
			return a.Keyed(), nil
		},
	}
	if l.Store != nil {
		v.Launch, v.Records = l.Store.LaunchByID, l.Store.Records
	}
	return v
}

// goals are what the plan asks for, worked out once.
func (l *Lab) goals() map[string]ledger.Goal {
	l.asking.Do(func() { l.asked = decide.Goals(l.Plan) })
	return l.asked
}
