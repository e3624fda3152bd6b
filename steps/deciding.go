package steps

import (
	"context"
	"sync"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// deciding is the step of a node that follows from recorded evidence.
type deciding struct {
	lab  *Lab
	node *runtime.Node
}

func (d deciding) Keys(s *runtime.Scope) (runtime.Keys, error) {
	return decide.Keys(d.lab.view(s), d.node)
}

func (d deciding) Run(_ context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	return decide.Node(d.lab.view(s), d.node)
}

// Foresee implements runtime.Foreseer.
func (d deciding) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	out, err := decide.Foresee(d.lab.view(s), d.node)
	return out, nil, err
}

// view is what a decision may see in an apply.
func (l *Lab) view(s *runtime.Scope) *decide.View {
	v := &decide.View{
		Plan: l.Plan, Graph: l.Graph, Outcome: s.Outcome, LockedBy: s.LockedBy,
		Arms: func(f *plans.Feature) (decide.Arms, error) {
			a, err := l.armsOf(s, f)
			if err != nil {
				return decide.Arms{}, err
			}
			return a.keyed(), nil
		},
	}
	if l.Store != nil {
		v.Launch, v.Records = l.Store.LaunchByID, l.Store.Records
	}
	return v
}

// Evidence is what rules could read after a recorded run: of every feature of
// the plan, given the decisions that stood then. It starts nothing.
func (l *Lab) Evidence(outcome func(node string) *ledger.Decision) *gates.Evidence {
	return decide.Evidence(l.view(&runtime.Scope{Plan: l.Plan, Known: &sync.Map{}, Outcome: outcome, LockedBy: func(node string) verdict.Reason {
		if outcome(node) != nil {
			return verdict.Reason{}
		}
		return verdict.New(code.NotInRun)
	}}))
}

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
	planned, err := decide.ArmsOf(l.view(s), f)
	if err != nil {
		return a, err
	}
	if a.root, err = l.rootOn(s, planned.Root); err != nil {
		return a, err
	}
	if a.parent = a.root; planned.Parent.Name != planned.Root.Name {
		if a.parent, err = l.Resolve(s, planned.Parent.Name, planned.Parent.Engine, planned.Parent.Knobs); err != nil {
			return a, err
		}
	}
	a.candidate, err = l.Resolve(s, planned.Candidate.Name, planned.Candidate.Engine, planned.Candidate.Knobs)
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
	v, err := l.Resolve(s, root.Name, root.Engine, root.Knobs)
	if err == nil && s.Foreseen != nil {
		s.Foreseen.Store(key, v)
	}
	return v, err
}

// keyed are arms as deciding knows them.
func (a arms) keyed() decide.Arms {
	arm := func(v *variant.Variant) decide.Arm {
		return decide.Arm{Name: v.Name, Engine: v.Engine, Key: v.Key, Knobs: v.Knobs}
	}
	return decide.Arms{Candidate: arm(a.candidate), Parent: arm(a.parent), Root: arm(a.root)}
}
