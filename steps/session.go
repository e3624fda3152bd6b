package steps

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// slot is one planned launch of a session.
type slot struct {
	variant *variant
	// ordinal counts the launches of the variant, order those of the session, and
	// number those that do not stand in the place of others; all from 1.
	ordinal, order, number int
	// crashed is how often the variant crashed since its last launch that counts.
	crashed int
}

// interleave plans rounds in which every arm is launched once, turned around by
// the Thue–Morse sequence: ABBA BAAB for two arms. Drift that is linear or
// quadratic over the session then falls on all arms alike.
func interleave(arms []*variant, rounds int) []slot {
	var out []slot
	for r := range rounds {
		for _, v := range roundOf(arms, r+1) {
			out = append(out, slot{variant: v, ordinal: r + 1, order: len(out) + 1, number: len(out) + 1})
		}
	}
	return out
}

// roundOf are the arms in the order of a round, which counts from 1.
func roundOf(arms []*variant, round int) []*variant {
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

// sessionID names the session that a benchmark continues: one that was recorded
// for the same measurement, also when another one came in between, otherwise a
// new one of this attempt. A session that a reboot cut is not continued: the
// machine before and after it are not the same arm.
func (l *Lab) sessionID(s *runtime.Scope, wanted int) (string, error) {
	if p := l.measured(s); p != nil {
		whole, err := l.usable(p.Session, wanted)
		if err != nil || whole {
			return p.Session, err
		}
	}
	for cut := 0; ; cut++ {
		id := "s-" + shortID(s.Keys.Measure, s.Attempt, cut)
		ok, err := l.usable(id, wanted)
		if err != nil || ok {
			return id, err
		}
	}
}

// measured is the newest decision that rests on the measurement that is asked
// for; nil when it broke, or when a person wants another one.
func (l *Lab) measured(s *runtime.Scope) *ledger.Decision {
	if s.Because == "--rerun" || l.Store == nil {
		return nil
	}
	history := l.Store.History(s.Node.ID)
	for i := len(history) - 1; i >= 0; i-- {
		d := history[i].Decision
		if d.MeasureKey != s.Keys.Measure || d.Session == "" {
			continue
		}
		if d.Verdict.Kept() {
			return d
		}
		return nil
	}
	return nil
}

// usable reports whether a session has all it needs or may go on.
func (l *Lab) usable(id string, wanted int) (bool, error) {
	launches, err := l.session(id)
	if err != nil {
		return false, err
	}
	sameBoot := true
	for _, launch := range launches {
		sameBoot = sameBoot && launch.BootID == l.Boot
	}
	return sameBoot || len(launches) >= wanted, nil
}

// continues finds the session that a member's benchmark goes on with: the newest
// that holds launches of its arms with this work. It is empty where a new one
// begins: where there is none, where a person wants to measure again, where the
// machine was started anew before it was complete (before and after that it is
// not the same arm), and where its launches did not count for a cause that
// lies in none of them and that the plan judges as before.
func (l *Lab) continues(s *runtime.Scope, m *member, work string) (string, error) {
	if l.Store == nil {
		return "", nil
	}
	// A candidate that entered the stack is the parent of others, in their sessions.
	beside := map[string]bool{}
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.arms.parent.key, Purpose: "benchmark"}) {
		beside[launch.Session] = beside[launch.Session] || launch.Work == work
	}
	id, decided, p := "", "", s.Previous
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: m.arms.candidate.key, Purpose: "benchmark"}) {
		if launch.Work != work || !beside[launch.Session] {
			continue
		}
		id = launch.Session
		if p != nil && p.MeasureKey == s.Keys.Measure && p.Session == id {
			decided = id
		}
	}
	if decided != "" && !l.begun[id] {
		id = decided // though a later session may have had these arms too
	}
	if id == "" || l.begun[id] {
		return id, nil
	}
	all, err := l.session(id)
	if err != nil {
		return "", err
	}
	mine, sameBoot, mended := false, true, false
	for _, launch := range all {
		mine = mine || launch.VariantKey == m.arms.parent.key
		sameBoot = sameBoot && launch.BootID == l.Boot
		mended = mended || m.has(launch.VariantKey) && !sound(launch)
	}
	switch {
	case !mine, s.Because == "--rerun":
		return "", nil
	case p != nil && p.MeasureKey == s.Keys.Measure && p.DecisionKey == s.Keys.Decide && p.Verdict == verdict.Invalid && !p.Derived && p.Session == id && !mended:
		return "", nil
	case sameBoot:
		return id, nil
	}
	complete := *m
	if err := l.look(s, &complete, all); err != nil || complete.open {
		return "", err
	}
	return id, nil
}

// existing finds the launch of a slot; nil when it has to be made.
func existing(launches []*ledger.Launch, sl slot) *ledger.Launch {
	for _, launch := range launches {
		if launch.VariantKey == sl.variant.key && launch.Ordinal == sl.ordinal {
			return launch
		}
	}
	return nil
}

// launchID names a launch by its session, variant and ordinal; one that stands in
// the place of others says so.
func launchID(session string, sl slot, before int) string {
	id := fmt.Sprintf("%s.%s.%d", session, sl.variant.name, sl.ordinal)
	if before > 0 {
		id += fmt.Sprintf("r%d", before)
	}
	return id
}
