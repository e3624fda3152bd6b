package session

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// earlier is a session on record that new launches might continue.
type earlier struct {
	id string // empty: there is none
	// begun is set if this apply started it, and broke if what was decided of it is not
	// kept.
	begun, broke bool
	// relaxed is set if a rule was relaxed after its launches were seen, and asked if a
	// person wants to measure again.
	relaxed, asked bool
	// invalid is set if its launches did not count for a reason that is in none of them,
	// and that the plan judges as before.
	invalid bool
	// rebooted is set if the machine was rebooted since one of its launches: before and
	// after that it is not the same arm. complete is set if it needs no more launches.
	rebooted, complete bool
	// crashed is set if the candidate crashed in a later qualification, and a rule reads
	// that.
	crashed bool
}

// resumeReason reports whether launches continue an earlier session, and why.
func (e earlier) resumeReason() (resume bool, why string) {
	switch {
	case e.id == "":
		return false, "there is none"
	case e.begun:
		return true, "this apply started it"
	case e.broke:
		return false, "it broke"
	case e.relaxed:
		return false, "a rule was relaxed after its launches were seen"
	case e.asked:
		return false, "a person asked to measure again"
	case e.invalid:
		return false, "its launches cannot be compared with each other"
	case e.rebooted && !e.complete:
		return false, "the machine was rebooted before it was complete"
	case !e.crashed:
		return true, "its launches count"
	case !e.complete:
		return true, "its next launch counts the crash"
	}
	return false, "the candidate crashed after all of its launches"
}

// sessionToResume finds the session that a member's benchmark continues, the newest that holds
// launches of its arms with this work; empty if a new one must start.
func (l *Lab) sessionToResume(s *runtime.Scope, m *member, work string) (string, error) {
	e := earlier{id: l.sessionWith(s, m, work), asked: s.Forced}
	all, view := l.session(e.id), l.Launches.View(s)
	if e.id != "" {
		why, err := m.NeedsFreshLaunches(view, all)
		if err != nil {
			return "", err
		}
		e.relaxed = !why.IsZero()
		complete := *m
		if err := complete.Look(view, all); err != nil {
			return "", err
		}
		mended := slices.ContainsFunc(all, func(launch *ledger.Launch) bool {
			return m.Has(launch.VariantKey) && !decide.Usable(launch)
		})
		p := s.Previous
		e.begun, e.rebooted, e.complete = slices.Contains(l.begun, e.id), !l.sameBoot(all), !complete.Open
		e.crashed = decide.ReadsCrashes(l.Variants.Plan, m.Feature) &&
			slices.ContainsFunc(decide.Crashes(l.Launches.Store.Records(), m.Arms.Candidate.Key),
				func(launch *ledger.Launch) bool {
					return launch.Purpose == ledger.ForQualification
				})
		e.invalid = p != nil && p.MeasureKey == s.Key && p.DecisionKey == s.RulesKey && p.Verdict == verdict.Invalid &&
			!p.Derived && p.Session == e.id && !mended
	}
	if resume, _ := e.resumeReason(); !resume {
		return "", nil
	}
	return e.id, nil
}

// sessionWith is the newest session that holds launches of a member's parent and of its
// candidate with this work; or the one that its outcome rests on if this apply started
// none, even if a later one had these arms too. Empty if there is none.
func (l *Lab) sessionWith(s *runtime.Scope, m *member, work string) (id string) {
	if l.Launches.Store == nil {
		return ""
	}
	// A candidate that entered the stack is the parent of others, in their sessions.
	beside := map[string]bool{}
	for _, launch := range l.Launches.Store.Launches(store.LaunchFilter{
		VariantKey: m.Arms.Parent.Key,
		Purpose:    ledger.ForBenchmark,
	}) {
		beside[launch.Session] = beside[launch.Session] || launch.Work == work
	}
	decided, p := "", s.Previous
	for _, launch := range l.Launches.Store.Launches(store.LaunchFilter{
		VariantKey: m.Arms.Candidate.Key,
		Purpose:    ledger.ForBenchmark,
	}) {
		if launch.Work != work || !beside[launch.Session] {
			continue
		}
		id = launch.Session
		if p != nil && p.MeasureKey == s.Key && p.Session == id {
			decided = id
		}
	}
	if decided != "" && !slices.Contains(l.begun, id) {
		return decided
	}
	return id
}

// newSession names a new session of some members: by what is measured, and by the
// attempt. One that was cut before it had launches of all arms is resumed.
func (l *Lab) newSession(s *runtime.Scope, work string, members []*member) (string, error) {
	var keys []string
	for _, m := range members {
		keys = append(keys, m.Arms.Parent.Key, m.Arms.Candidate.Key)
	}
	return l.firstSession(s, []any{work, keys, s.Node.ID, s.Attempt}, func(e *earlier, have []*ledger.Launch) error {
		relaxed, err := members[0].NeedsFreshLaunches(l.Launches.View(s), have)
		e.relaxed = !relaxed.IsZero()
		return err
	})
}

// sessionOfRows names the session that a comparison continues: one decided for the same
// measurement, even if another came in between, otherwise a new one of this attempt.
func (l *Lab) sessionOfRows(s *runtime.Scope, launches int) (string, error) {
	complete := func(e *earlier, have []*ledger.Launch) error {
		e.complete = len(have) >= launches
		return nil
	}
	if l.Launches.Store != nil {
		for _, d := range slices.Backward(l.Launches.Store.History(s.Node.ID)) {
			if d.MeasureKey != s.Key || d.Session == "" {
				continue
			}
			have := l.session(d.Session)
			e := earlier{id: d.Session, broke: !d.Reusable(), asked: s.Forced, rebooted: !l.sameBoot(have)}
			_ = complete(&e, have)
			if resume, _ := e.resumeReason(); resume {
				return e.id, nil
			}
			break
		}
	}
	return l.firstSession(s, []any{s.Node.ID, s.Key, s.Attempt}, complete)
}

// firstSession is the first session of that name and a number that may be continued: in
// most cases, because it has no launches.
func (l *Lab) firstSession(s *runtime.Scope, name []any, know func(e *earlier, have []*ledger.Launch) error) (string,
	error,
) {
	for n := 0; ; n++ {
		id := "s-" + runtime.ShortID(append(name, n)...)
		have := l.session(id)
		e := earlier{
			id: id, begun: slices.Contains(l.begun, id), asked: s.Forced && len(have) > 0,
			rebooted: !l.sameBoot(have),
		}
		if err := know(&e, have); err != nil {
			return "", err
		}
		if resume, _ := e.resumeReason(); resume {
			return id, nil
		}
	}
}

// cutInFirstRound reports whether a session was cut in its first round: launches made in
// it now run in parallel with the recorded ones. If a candidate's outcome rests on it, that round
// was complete, and later candidates were not in it.
func (l *Lab) cutInFirstRound(launches []*ledger.Launch, members []*member) bool {
	if len(launches) == 0 || !l.sameBoot(launches) ||
		slices.ContainsFunc(launches, func(launch *ledger.Launch) bool { return launch.Ordinal > 1 }) {
		return false
	}
	for _, m := range members {
		for _, f := range l.Launches.Graph.Siblings(m.Feature) {
			for _, d := range l.Launches.Store.History(runtime.BenchmarkID(f.Name)) {
				if d.Session == launches[0].Session {
					return false
				}
			}
		}
	}
	return true
}

// session returns the launches of a session, in order.
func (l *Lab) session(id string) []*ledger.Launch {
	if id == "" || l.Launches.Store == nil {
		return nil
	}
	return l.Launches.Store.Launches(store.LaunchFilter{Session: id})
}

// sameBoot reports whether launches were made since the last boot.
func (l *Lab) sameBoot(launches []*ledger.Launch) bool {
	return !slices.ContainsFunc(launches, func(launch *ledger.Launch) bool { return launch.BootID != l.Launches.Boot })
}
