package launch

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// Arms are the variants of one feature's benchmark.
type Arms struct {
	Candidate, Parent *variant.Variant
	References        map[plans.Against]*variant.Variant
	// Gone are arms that can no longer be started, and so have no variant.
	Gone map[plans.Against]decide.Arm
}

// Distinct lists the variants to launch, parent first: A is the parent and B the
// candidate of ABBA. A reference is its own arm only if it is wanted and no other is the
// same variant.
func (a Arms) Distinct(wanted func(plans.Against) bool) []*variant.Variant {
	out := []*variant.Variant{a.Parent, a.Candidate}
	for _, against := range plans.References {
		v := a.References[against]
		if v != nil && wanted(against) && !slices.ContainsFunc(out, func(o *variant.Variant) bool { return o.Key == v.Key }) {
			out = append(out, v)
		}
	}
	return out
}

// Arms resolves a feature's candidate, its parent and the baseline, given what is
// accepted so far, on the engine that the feature is measured on. It returns
// runtime.ErrUndecided while that is unknown.
func (l *Lab) Arms(s *runtime.Scope, f *plans.Feature) (a Arms, err error) {
	key := foreseenArms{feature: f}
	if !OnBaseline(f) {
		key.node = s.Node // it depends on the outcomes so far
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

// OnBaseline reports whether a feature's arms follow from the plan alone, whatever the
// earlier outcomes.
func OnBaseline(f *plans.Feature) bool {
	return f.BuildsOn.Kind == plans.OnBaseline && f.Of == "" && f.Choose == nil
}

// foreseenArms and foreseenReference are the keys under which a preview caches variants:
// those of a feature as a node sees it, and a reference on an engine.
type (
	foreseenArms struct {
		feature *plans.Feature
		node    *runtime.Node
	}
	foreseenReference struct{ name, engine string }
)

func (l *Lab) resolveArms(s *runtime.Scope, f *plans.Feature) (a Arms, err error) {
	planned, err := decide.ArmsOf(l.View(s), f)
	if err != nil {
		return a, err
	}
	a.References = map[plans.Against]*variant.Variant{}
	for against, arm := range planned.References {
		if a.References[against], err = l.reference(s, arm); err != nil {
			return a, err
		}
	}
	if a.Parent = a.References[plans.Root]; planned.Parent.Name != ledger.Baseline {
		if a.Parent, err = l.resolveArm(s, planned.Parent); err != nil {
			return a, err
		}
	}
	if a.Candidate, err = l.resolveArm(s, planned.Candidate); err == nil && decide.ReadsOf(l.Plan, f, plans.LastAccepted) {
		l.lastAccepted(s, &a)
	}
	return a, err
}

// lastAccepted adds what was accepted last before the baseline changed: the baseline
// itself if nothing was. It is started as it was or not at all.
func (l *Lab) lastAccepted(s *runtime.Scope, a *Arms) {
	root := a.References[plans.Root]
	was := l.acceptedBefore(root)
	if was == nil {
		a.References[plans.LastAccepted] = root
		return
	}
	then := was.Launches[0]
	v, err := l.asItWas(s, then)
	if err == nil && v.Key == then.VariantKey {
		a.References[plans.LastAccepted] = v
		return
	}
	why := verdict.New(code.RevisionGone, verdict.Text("day", was.At.UTC().Format(time.DateOnly))).On(was.Node)
	if err != nil {
		why = why.From(verdict.OfError(err))
	}
	a.Gone = map[plans.Against]decide.Arm{plans.LastAccepted: {Name: string(plans.LastAccepted), Key: then.VariantKey, Gone: why, Was: was}}
}

func (l *Lab) acceptedBefore(root *variant.Variant) *decide.LastAccepted {
	if l.Store == nil {
		return nil
	}
	// What this apply accepts has this baseline, so it stays the same.
	key := root.Engine + " " + root.Key
	if known, ok := l.accepted.Load(key); ok {
		return known.(*decide.LastAccepted)
	}
	was := decide.LastAcceptedIn(l.Store.Records(), root.Engine, root.Key)
	l.accepted.Store(key, was)
	return was
}

// asItWas is the variant of a launch by the present plan, at the commits of that time.
func (l *Lab) asItWas(s *runtime.Scope, then *ledger.Launch) (*variant.Variant, error) {
	over := &plans.KnobValue{Name: string(plans.LastAccepted), Parts: map[string][]*plans.Block{}}
	for _, key := range slices.Sorted(maps.Keys(then.Engine)) {
		name, of := strings.CutSuffix(key, ".commit")
		name, is := strings.CutPrefix(name, "source.")
		if of && is {
			over.Parts["source"] = append(over.Parts["source"], &plans.Block{Kind: "source", Name: name, Attrs: map[string]any{"ref": then.Engine[key]}})
		}
	}
	knobs := l.Plan.DefaultKnobs()
	maps.Copy(knobs, then.Knobs)
	v, err := l.ResolveWith(s, over.Name, then.Block, l.Plan.Apart(knobs), over)
	if err != nil {
		return nil, err
	}
	for _, src := range v.Spec.Sources {
		if src.Problem != "" {
			return nil, errors.New(src.Problem)
		}
	}
	return v, nil
}

func (l *Lab) resolveArm(s *runtime.Scope, arm decide.Arm) (*variant.Variant, error) {
	return l.ResolveWith(s, arm.Name, arm.Engine, arm.Set, arm.Over)
}

// reference is an arm that all features on an engine share.
func (l *Lab) reference(s *runtime.Scope, arm decide.Arm) (*variant.Variant, error) {
	key := foreseenReference{arm.Name, arm.Engine}
	if s.Foreseen != nil {
		if known, ok := s.Foreseen.Load(key); ok {
			return known.(*variant.Variant), nil
		}
	}
	v, err := l.resolveArm(s, arm)
	if err == nil && s.Foreseen != nil {
		s.Foreseen.Store(key, v)
	}
	return v, err
}

// Keyed returns arms as steps/decide knows them.
func (a Arms) Keyed() decide.Arms {
	arm := func(v *variant.Variant) decide.Arm {
		return decide.Arm{Name: v.Name, Engine: v.Engine, Set: v.Set, Over: v.Over, Key: v.Key, Knobs: v.Knobs}
	}
	out := decide.Arms{Candidate: arm(a.Candidate), Parent: arm(a.Parent), References: map[plans.Against]decide.Arm{}}
	for against, v := range a.References {
		out.References[against] = arm(v)
	}
	maps.Copy(out.References, a.Gone)
	return out
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

// goals are the plan's goals, computed once.
func (l *Lab) goals() map[string]ledger.Goal {
	l.asking.Do(func() { l.asked = decide.Goals(l.Plan) })
	return l.asked
}
