package steps

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

func (s *session) crashes(v *variant.Variant) []*ledger.Launch {
	candidate := slices.ContainsFunc(s.members, func(m *member) bool { return m.Arms.Candidate.Key == v.Key })
	return s.lab.crashes(v.Key, s.id, candidate)
}

// crashes are the starts of a variant on this machine that crashed since its last
// launch that counts; of what is a candidate in the session where candidate is set.
func (l *Lab) crashes(key, session string, candidate bool) []*ledger.Launch {
	if l.Store == nil {
		return nil
	}
	elsewhere := func(r *ledger.RunStart) bool { return variant.MachineKey(r.Environment, l.Plan) != l.MachineKey }
	return decide.Crashes(l.Store.Records(), key, session, candidate, elsewhere)
}

// crashedSince reports whether a candidate crashed when it was qualified anew after
// all the launches of its session, and a rule reads crashes: then there is none that
// counts it, and none will come.
func (l *Lab) crashedSince(m *member, session string) bool {
	return decide.ReadsCrashes(l.Plan, m.Feature) && slices.ContainsFunc(l.crashes(m.Arms.Candidate.Key, session, true), func(launch *ledger.Launch) bool {
		return launch.Purpose == ledger.ForQualification
	})
}

// countsCrashes says which starts of before a session's own a launch counts; no fact
// where there are none.
func countsCrashes(launch *ledger.Launch, before []*ledger.Launch) verdict.Reason {
	var ids []string
	for _, c := range before {
		if c.Session != launch.Session {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return verdict.Reason{}
	}
	return verdict.New(code.CountsCrashes, verdict.List("launches", ids))
}

// died keeps that a launch broke: the nodes of other candidates in the session do
// not try it again behind the back of whoever has to hear of it. The next apply does.
func (s *session) died(launch *ledger.Launch) {
	if s.lab.died == nil {
		s.lab.died = map[string]*ledger.Launch{}
	}
	s.lab.died[s.id+launch.VariantKey] = launch
}

// dropDead leaves out members whose candidate broke earlier in this apply.
func (s *session) dropDead() {
	for _, m := range s.members {
		if l := s.lab.died[s.id+m.Arms.Candidate.Key]; l != nil {
			m.broken, m.Open = l, false
		}
	}
}
