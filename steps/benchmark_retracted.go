package steps

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// closeRetracted keeps a member from getting more launches in a session whose outcome
// a person retracted, under whatever name: what rests on them would not count. It says
// why; empty where there is no such outcome.
func (l *Lab) closeRetracted(m *member, launches []*ledger.Launch) string {
	if l.Store == nil || len(launches) == 0 {
		return ""
	}
	taken := m.took(launches)
	if len(taken) == 0 {
		return "" // other arms than then
	}
	for _, r := range l.Store.Records() {
		d := r.Decision
		if !d.RetractedFeature() || d.Session != launches[0].Session {
			continue
		}
		if latest, _, ok := l.Store.Latest(d.Node); !ok || !latest.Retracted() || !slices.ContainsFunc(taken, func(launch *ledger.Launch) bool {
			return launch.VariantKey == m.arms.candidate.key && slices.Contains(d.Launches, launch.ID)
		}) {
			continue
		}
		m.most = min(m.most, len(taken)/len(m.variants))
		m.least = min(m.least, m.most)
		return fmt.Sprintf("no launch is added to those with which %s was %s; --rerun measures again", d.Node, d.Retraction.SaysOf(d.Node))
	}
	return ""
}
