package launch

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

type Arms struct {
	// Candidate is what is judged, Parent what it is compared with; nil for a reference's own row.
	Candidate, Parent *variant.Variant
	// Root is the baseline; nil in a replay if no launch of it is on record.
	Root *variant.Variant
}

// Distinct lists the variants to launch, parent first: A is the parent and B the
// candidate of ABBA. The baseline is an arm of its own only if it is wanted and is
// neither of them.
func (a Arms) Distinct(root bool) []*variant.Variant {
	out := []*variant.Variant{a.Parent, a.Candidate}
	if root && a.Root != nil && a.Root.Key != a.Parent.Key && a.Root.Key != a.Candidate.Key {
		out = append(out, a.Root)
	}
	return out
}

// Arms resolves a feature's candidate, its parent and the baseline, given what is
// accepted so far, on the engine that the feature is measured on. It returns
// runtime.ErrUndecided while that is unknown. A walk asks for those of one feature several times.
func (l *Lab) Arms(s *runtime.Scope, f *plans.Feature) (a Arms, err error) {
	type latest struct {
		of *plans.Feature
		Arms
	}
	if s.Planning() {
		if kept, _ := s.Memo.Load((*latest)(nil)); kept != nil && kept.(latest).of == f {
			return kept.(latest).Arms, nil
		}
		defer func() {
			if err == nil {
				s.Memo.Store((*latest)(nil), latest{f, a})
			}
		}()
	}
	planned, err := decide.ArmsOf(l.View(s), f)
	if err != nil {
		return a, err
	}
	resolve := func(arm decide.Arm) (*variant.Variant, error) {
		return l.Variants.ResolveWith(s, arm.Name, arm.Engine, arm.Set)
	}
	if a.Root, err = resolve(planned.Root); err != nil {
		return a, err
	}
	if a.Parent = a.Root; planned.Parent.Name != ledger.Baseline {
		if a.Parent, err = resolve(planned.Parent); err != nil {
			return a, err
		}
	}
	a.Candidate, err = resolve(planned.Candidate)
	return a, err
}

// ArmKeys returns arms as runtime/decide knows them.
func (a Arms) ArmKeys() decide.Arms {
	arm := func(v *variant.Variant) decide.Arm {
		if v == nil {
			return decide.Arm{}
		}
		return v.Arm
	}
	return decide.Arms{Candidate: arm(a.Candidate), Parent: arm(a.Parent), Root: arm(a.Root)}
}

// View is what a decision may see in an apply.
func (l *Lab) View(s *runtime.Scope) *decide.View {
	l.asking.Do(func() { l.asked = decide.Goals(l.Variants.Plan) })
	v := &decide.View{
		Plan: l.Variants.Plan, Graph: l.Graph, Outcomes: s.Outcomes, Identities: identities{l, s}, Goals: l.asked,
	}
	if l.Store != nil {
		v.Record = l.Store
	}
	return v
}

// identities are arms as they resolve now.
type identities struct {
	lab   *Lab
	scope *runtime.Scope
}

func (r identities) Arms(f *plans.Feature) (decide.Arms, error) {
	a, err := r.lab.Arms(r.scope, f)
	if err != nil {
		return decide.Arms{}, err
	}
	return a.ArmKeys(), nil
}

func (r identities) Changed(f *plans.Feature) verdict.Reason {
	a, err := r.lab.Arms(r.scope, f)
	if err != nil || r.lab.Launcher == nil {
		return verdict.Reason{}
	}
	return r.lab.WhatChanged(r.scope, a.Candidate, a.Parent)
}
