package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// crashed reports whether the engine ended a launch by itself, also before it was
// ready.
func crashed(l *ledger.Launch) bool { return !l.OK && l.Exit != nil }

// crashes are the starts of a variant on this machine that crashed since its last
// launch that counts, in any slot, whoever started it and what for: to qualify it,
// or in a session that was left behind. What is launched after them must not make
// them forgotten.
func (s *session) crashes(v *variant.Variant) []*ledger.Launch {
	candidate := slices.ContainsFunc(s.members, func(m *member) bool { return m.arms.candidate.Key == v.Key })
	return s.lab.crashes(v, s.id, candidate)
}

// crashes are those that the next launch of a session counts. A launch of another
// session that a decision rests on has counted those before it; of what is a candidate
// here, only where it was one there too, since what it is the parent of says nothing of
// its own crashes. An error, such as the crash itself makes, is no such decision.
func (l *Lab) crashes(v *variant.Variant, session string, candidate bool) []*ledger.Launch {
	if l.Store == nil {
		return nil
	}
	type candidates []map[string]string
	decided, elsewhere := map[string]candidates{}, map[string]bool{} // by launch, by run
	for _, r := range l.Store.Records() {
		switch {
		case r.RunStart != nil:
			elsewhere[r.Run] = variant.MachineKey(r.RunStart.Environment, l.Plan) != l.MachineKey
		case r.Decision != nil && r.Decision.Kind == string(runtime.KindBenchmark) && r.Decision.Verdict == verdict.Pass:
			for _, id := range r.Decision.Launches {
				decided[id] = append(decided[id], r.Decision.Variant)
			}
		}
	}
	counts := func(launch *ledger.Launch) bool {
		return launch.Purpose == ledger.ForBenchmark && (!candidate || slices.ContainsFunc(decided[launch.ID], func(knobs map[string]string) bool {
			return maps.Equal(knobs, launch.Knobs)
		}))
	}
	var own, other []*ledger.Launch
	for _, r := range l.Store.Records() {
		launch := r.Launch
		if launch == nil || launch.VariantKey != v.Key || elsewhere[r.Run] {
			continue
		}
		switch here := launch.Session == session; {
		case crashed(launch) && here:
			own = append(own, launch)
		case crashed(launch):
			other = append(other, launch)
		case sound(launch) && here:
			own, other = nil, nil
		case sound(launch) && counts(launch):
			other = nil
		}
	}
	return append(other, own...)
}

// crashedSince reports whether a candidate crashed when it was qualified anew after
// all the launches of its session, and a rule reads crashes: then there is none that
// counts it, and none will come.
func (l *Lab) crashedSince(m *member, session string) bool {
	b := &benchmark{lab: l, feature: m.feature}
	return b.readsCrashes() && slices.ContainsFunc(l.crashes(m.arms.candidate, session, true), func(launch *ledger.Launch) bool {
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
		if l := s.lab.died[s.id+m.arms.candidate.Key]; l != nil {
			m.broken, m.open = l, false
		}
	}
}
