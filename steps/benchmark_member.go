package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// member is one candidate of a session: the arms that it needs, and how far it
// has come. Several share the launches of their parent.
type member struct {
	feature *plans.Feature
	arms    arms
	// variants are the parent, the candidate and, where a rule compares with it,
	// the baseline.
	variants []*variant.Variant
	// least and most are launches of each arm.
	least, most int
	// rounds is how many rounds its decision rests on; open while more are wanted.
	rounds int
	open   bool
	// broken is the first of its launches that did not end well.
	broken *ledger.Launch
	// invalid is why its launches do not count, as far as was looked at.
	invalid verdict.Reason
}

// member makes what one feature needs of a session.
func (l *Lab) member(s *runtime.Scope, f *plans.Feature) (*member, error) {
	b := &benchmark{lab: l, feature: f}
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, err
	}
	m := &member{feature: f, arms: a, variants: vs, open: true}
	m.least, m.most = l.Plan.LaunchesOf(readAs(f))
	if b.countsLaunches() {
		m.least = m.most
	}
	return m, nil
}

// sessionOf are f as a member and all that are measured together with it, f among
// them, in the order of the graph: its siblings that are qualified and have to be
// measured too.
func (l *Lab) sessionOf(s *runtime.Scope, f *plans.Feature) (own *member, all []*member, err error) {
	if own, err = l.member(s, f); err != nil {
		return nil, nil, err
	}
	for _, other := range runtime.Siblings(l.Plan, f) {
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
		if m.arms.parent.Key == own.arms.parent.Key && m.arms.candidate.Key != m.arms.parent.Key {
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

// took are the launches that a member's decision rests on: of every arm, those of
// the rounds in which all of its arms were launched.
func (m *member) took(launches []*ledger.Launch) []*ledger.Launch {
	in := map[int]int{}
	var own []*ledger.Launch
	for _, launch := range launches {
		if m.has(launch.VariantKey) && sound(launch) {
			in[launch.Ordinal]++
			own = append(own, launch)
		}
	}
	return slices.DeleteFunc(own, func(launch *ledger.Launch) bool { return in[launch.Ordinal] < len(m.variants) })
}

func (m *member) has(key string) bool {
	return slices.ContainsFunc(m.variants, func(v *variant.Variant) bool { return v.Key == key })
}

// sound reports whether a launch may be evidence: one that broke, or that was
// disturbed, is recorded with its cause and another one stands in its place.
func sound(launch *ledger.Launch) bool { return launch.OK && len(launch.Invalid) == 0 }

// readAs is the name under which rules read a candidate: an alternative and a
// confirmation stand for their feature.
func readAs(f *plans.Feature) string {
	if f.Of != "" {
		return f.Of
	}
	return f.Name
}

// decisive are the criteria that let a feature in.
func decisive(f *plans.Feature) (rules []*plans.Rule) {
	for _, r := range f.Criteria {
		if slices.Contains(f.Accept, r.Name) {
			rules = append(rules, r)
		}
	}
	return rules
}

func readsFeature(rules []*plans.Rule, name string) bool {
	for _, r := range rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature == name {
				return true
			}
		}
	}
	return false
}

// spared is how many launches of each arm there are, and that a session ended before
// all were made.
func (m *member) spared() verdict.Reason {
	if m.rounds >= m.most {
		return perArm(m.rounds)
	}
	return verdict.New(code.LaunchesPerArm, verdict.Int("n", m.rounds), verdict.Int("most", m.most))
}
