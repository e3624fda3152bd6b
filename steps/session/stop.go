package session

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/decide"
)

// stopReason is the reason that a session ends for a member: it makes no more launches for
// it. A session that is interrupted has none: the error of the context ends it, and the next
// apply resumes it.
type stopReason string

const (
	notStopped       stopReason = "" // it makes more
	stopCrashed      stopReason = "the candidate crashed again"
	stopBroken       stopReason = "a launch that every comparison needs broke"
	stopDisturbed    stopReason = "the machine disturbed a launch each time"
	stopIncomparable stopReason = "its launches do not count"
	stopMaximum      stopReason = "all launches were made"
	stopSettled      stopReason = "every rule is settled"
	stopFutile       stopReason = "more launches could settle no rule"
)

func (s *session) stopReason(m *member) stopReason {
	_, crashed := decide.CrashedAgain(m.Arms.Candidate, m.Arms.Parent, s.all)
	return m.stopReason(!crashed.IsZero())
}

func (m *member) stopReason(crashed bool) stopReason {
	switch {
	case crashed:
		return stopCrashed
	case m.broken != nil && m.broken.OK && m.broken.Disturbed:
		return stopDisturbed
	case m.broken != nil:
		return stopBroken
	case !m.invalid.IsZero():
		return stopIncomparable
	case m.Open:
		return notStopped
	case m.Rounds >= m.Most:
		return stopMaximum
	case slices.ContainsFunc(m.Asked, func(r verdict.Rule) bool { return r.Verdict == verdict.Inconclusive }):
		return stopFutile
	}
	return stopSettled
}
