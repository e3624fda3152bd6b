package steps

import (
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

// interleave plans rounds in which every arm is launched once.
func interleave(arms []*variant.Variant, rounds int) []slot {
	var out []slot
	for r := range rounds {
		for _, v := range roundOf(arms, r+1) {
			out = append(out, slot{variant: v, ordinal: r + 1, order: len(out) + 1, number: len(out) + 1})
		}
	}
	return out
}

// sessionID names the session that a comparison goes on with: one that was recorded
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
		id := "s-" + runtime.ShortID(s.Keys.Measure, s.Attempt, cut)
		ok, err := l.usable(id, wanted)
		if err != nil || ok {
			return id, err
		}
	}
}

// measured is the newest decision that rests on the measurement that is asked
// for; nil when it broke, or when a person wants another one.
func (l *Lab) measured(s *runtime.Scope) *ledger.Decision {
	if s.Asked() || l.Store == nil {
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
	return l.sameBoot(launches) || len(launches) >= wanted, nil
}

// existing finds the launch of a slot; nil when it has to be made.
func existing(launches []*ledger.Launch, sl slot) *ledger.Launch {
	for _, launch := range launches {
		if launch.VariantKey == sl.variant.Key && launch.Ordinal == sl.ordinal {
			return launch
		}
	}
	return nil
}
