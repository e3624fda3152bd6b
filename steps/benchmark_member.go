package steps

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

// member is one candidate of a session, with what is launched for it.
type member struct {
	decide.Member
	// variants are the parent, the candidate and, where a rule compares with it,
	// the baseline.
	variants []*variant.Variant
	// broken is the first of its launches that did not end well.
	broken *ledger.Launch
	// invalid is why its launches do not count, as far as was looked at.
	invalid verdict.Reason
}

func newMember(p *plans.Plan, f *plans.Feature, a arms, vs []*variant.Variant) *member {
	var keys []string
	for _, v := range vs {
		keys = append(keys, v.Key)
	}
	return &member{Member: decide.NewMember(p, f, a.keyed(), keys), variants: vs}
}

// member makes what one feature needs of a session.
func (l *Lab) member(s *runtime.Scope, f *plans.Feature) (*member, error) {
	vs, a, err := (&benchmark{lab: l, feature: f}).arms(s)
	if err != nil {
		return nil, err
	}
	return newMember(l.Plan, f, a, vs), nil
}

// sessionOf are f as a member and all that are measured together with it, f among
// them, in the order of the graph: its siblings that are qualified and have to be
// measured too.
func (l *Lab) sessionOf(s *runtime.Scope, f *plans.Feature) (own *member, all []*member, err error) {
	if own, err = l.member(s, f); err != nil {
		return nil, nil, err
	}
	for _, other := range l.Graph.Siblings(f) {
		if other.Name == f.Name {
			all = append(all, own)
			continue
		}
		wanted, err := l.toMeasure(s, other)
		if err != nil {
			return nil, nil, err
		}
		if !wanted {
			continue
		}
		m, err := l.member(s, other)
		if err != nil {
			return nil, nil, err
		}
		// A sibling whose parent came out as another variant has its own session.
		if m.Arms.Parent.Key == own.Arms.Parent.Key && m.Arms.Candidate.Key != m.Arms.Parent.Key {
			all = append(all, m)
		}
	}
	return own, all, nil
}

// toMeasure reports whether an apply still has to measure a sibling.
func (l *Lab) toMeasure(s *runtime.Scope, f *plans.Feature) (bool, error) {
	id := runtime.BenchmarkID(f.Name)
	n := l.Graph.Node(id)
	if n == nil || s.Outcome(id) != nil || !s.LockedBy(id).IsZero() {
		return false, nil
	}
	if q := s.Outcome(runtime.QualifyID(f.Name)); q == nil || q.Verdict != verdict.Pass {
		return false, nil
	}
	sibling := *s
	sibling.Node = n
	keys, err := (&benchmark{lab: l, feature: f}).Keys(&sibling)
	if err != nil {
		return false, err
	}
	return s.Chosen != nil && s.Chosen(n, keys).Action != runtime.Reuse, nil
}
