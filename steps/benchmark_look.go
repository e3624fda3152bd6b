package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// look asks the rules that read a member whether they need more launches.
func (l *Lab) look(s *runtime.Scope, m *member, launches []*ledger.Launch) error {
	used := m.took(launches)
	m.rounds = len(used) / len(m.variants)
	if m.rounds < m.least || m.rounds >= m.most {
		m.open = m.rounds < m.most
		return nil
	}
	ev := &gates.Feature{Levels: map[string]verdict.Verdict{}, Knobs: m.arms.candidate.Knobs}
	l.fillArms(ev, m.arms, m.feature, used)
	for _, id := range []string{runtime.QualifyID(m.feature.Name), runtime.BenchmarkID(m.feature.Name)} {
		if d := s.Outcome(id); d != nil {
			for _, level := range d.Levels {
				ev.Levels[level.Name] = level.Verdict
			}
		}
	}
	ev.Levels[benchmarkLevel] = verdict.Pass
	open, err := l.wanted(s, m, ev)
	m.open = open
	return err
}

// wanted reports whether any set of rules that reads a member could still be
// settled by more launches of it.
func (l *Lab) wanted(s *runtime.Scope, m *member, ev *gates.Feature) (bool, error) {
	name := readAs(m.feature)
	all := &gates.Evidence{Features: map[string]*gates.Feature{name: ev}}
	if slices.Contains(gates.Open(gates.Decide(decisive(m.feature), all, l.settings(m.feature))), name) {
		return true, nil
	}
	if m.feature.Engine != "" {
		return false, nil // gates read the first engine
	}
	for _, ph := range l.Plan.Phases {
		if ph.Gate == nil || !readsFeature(ph.Gate.Rules, name) {
			continue
		}
		g := &decideGate{lab: l, phase: ph}
		for _, other := range g.features() {
			if other.Name == name || all.Features[other.Name] != nil {
				continue
			}
			if d := s.Outcome(runtime.FeatureID(other.Name)); d != nil {
				theirs, _, err := l.evidenceOf(s, other)
				if err != nil {
					return false, err
				}
				addOutcome(theirs, d)
				all.Features[other.Name] = theirs
			}
		}
		if slices.Contains(gates.Open(gates.Decide(ph.Gate.Rules, all, l.settingsOfGate(ph))), name) {
			return true, nil
		}
	}
	return false, nil
}
