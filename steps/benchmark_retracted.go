package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// closeRetracted keeps a member from getting more launches in a session whose outcome
// a person retracted, under whatever name: what rests on them would not count. It says
// why; no fact where there is no such outcome.
func (l *Lab) closeRetracted(m *member, launches []*ledger.Launch) verdict.Reason {
	if l.Store == nil || len(launches) == 0 {
		return verdict.Reason{}
	}
	taken := m.took(launches)
	if len(taken) == 0 {
		return verdict.Reason{} // other arms than then
	}
	for _, r := range l.Store.Records() {
		d := r.Decision
		if !d.RetractedFeature() || d.Session != launches[0].Session {
			continue
		}
		if latest, _, ok := l.Store.Latest(d.Node); !ok || !latest.Retracted() || !slices.ContainsFunc(taken, func(launch *ledger.Launch) bool {
			return launch.VariantKey == m.arms.candidate.Key && slices.Contains(d.Launches, launch.ID)
		}) {
			continue
		}
		m.most = min(m.most, len(taken)/len(m.variants))
		m.least = min(m.least, m.most)
		return verdict.New(code.SessionClosed, verdict.Text("by", d.Retraction.By), verdict.Text("reason", d.Retraction.Reason)).On(d.Node)
	}
	return verdict.Reason{}
}
