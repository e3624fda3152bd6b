package steps

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// slot is one planned launch of a session.
type slot struct {
	variant *variant.Variant
	// ordinal counts the launches of the variant, order those of the session, and
	// number those that do not stand in the place of others; all from 1.
	ordinal, order, number int
	// crashed are its starts that crashed since its last launch that counts.
	crashed []*ledger.Launch
	// texts are the prompts that all arms are sent; nil where each is sent its own.
	texts *record.Texts
}

// roundOf are the arms in the order of a round, which counts from 1, turned around by
// the Thue–Morse sequence: ABBA BAAB for two arms. Drift that is linear or quadratic
// over the session then falls on all arms alike.
func roundOf(arms []*variant.Variant, round int) []*variant.Variant {
	out := slices.Clone(arms)
	if bits.OnesCount(uint(round-1))%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// session are the launches of a session, by order.
func (l *Lab) session(id string) ([]*ledger.Launch, error) {
	if id == "" || l.Store == nil {
		return nil, nil
	}
	return l.Store.Launches(store.LaunchFilter{Session: id}), nil
}

// continues finds the session that a member's benchmark goes on with: the newest
// that holds launches of its arms with this work. It is empty where a new one
// begins: where there is none, where a person wants to measure again, where the
// machine was started anew before it was complete (before and after that it is
// not the same arm), and where its launches did not count for a cause that
// lies in none of them and that the plan judges as before. One begins, too, where
// the candidate crashed since in a new qualification.
func (l *Lab) continues(s *runtime.Scope, m *member, work string) (string, error) {
	if l.Store == nil {
		return "", nil
	}
	id := l.sessionWith(s, m, work)
	if id == "" || l.begun[id] {
		return id, nil
	}
	all, err := l.session(id)
	if err != nil {
		return "", err
	}
	mended := slices.ContainsFunc(all, func(launch *ledger.Launch) bool { return m.Has(launch.VariantKey) && !decide.Sound(launch) })
	p := s.Previous
	switch {
	case s.Asked():
		return "", nil
	case p != nil && p.MeasureKey == s.Keys.Measure && p.DecisionKey == s.Keys.Decide && p.Verdict == verdict.Invalid && !p.Derived && p.Session == id && !mended:
		return "", nil
	}
	goesOn, again := l.sameBoot(all), l.crashedSince(m, id)
	if goesOn && !again {
		return id, nil
	}
	complete := *m
	if err := complete.Look(l.View(s), all); err != nil {
		return "", err
	}
	if complete.Open {
		again = !goesOn // what it goes on with counts the crash
	} else if again {
		again = complete.CloseRetracted(l.View(s), all).IsZero()
	}
	if again {
		return "", nil
	}
	return id, nil
}

// sessionWith is the newest session that holds launches of a member's parent and of
// its candidate with this work; the one that its outcome rests on where this apply
// began none, though a later one may have had these arms too. Empty where there is
// none.
func (l *Lab) sessionWith(s *runtime.Scope, m *member, work string) (id string) {
	// A candidate that entered the stack is the parent of others, in their sessions.
	beside := map[string]bool{}
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.Arms.Parent.Key, Purpose: ledger.ForBenchmark}) {
		beside[launch.Session] = beside[launch.Session] || launch.Work == work
	}
	decided, p := "", s.Previous
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.Arms.Candidate.Key, Purpose: ledger.ForBenchmark}) {
		if launch.Work != work || !beside[launch.Session] {
			continue
		}
		id = launch.Session
		if p != nil && p.MeasureKey == s.Keys.Measure && p.Session == id {
			decided = id
		}
	}
	if decided != "" && !l.begun[id] {
		return decided
	}
	return id
}

// sameBoot reports whether launches were made since the machine was started last:
// before and after that it is not the same arm.
func (l *Lab) sameBoot(launches []*ledger.Launch) bool {
	return !slices.ContainsFunc(launches, func(launch *ledger.Launch) bool { return launch.BootID != l.Boot })
}

// launchID names a launch by its session, variant and ordinal; one that stands in
// the place of others says so.
func launchID(session string, sl slot, before int) string {
	id := fmt.Sprintf("%s.%s.%d", session, sl.variant.Name, sl.ordinal)
	if before > 0 {
		id += fmt.Sprintf("r%d", before)
	}
	return id
}
