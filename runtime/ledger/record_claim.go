package ledger

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
)

// DecidedBy is the attempt that decided what this one says: an earlier one where
// only the hypothesis beside it is another.
func (d *Decision) DecidedBy() int {
	if d.Of > 0 {
		return d.Of
	}
	return d.Attempt
}

// SameOutcome reports whether two decisions about a node say the same, by the same
// rules, of the same launches.
func (d *Decision) SameOutcome(o *Decision) bool {
	return d.Verdict == o.Verdict && d.Accepted == o.Accepted && d.Session == o.Session && slices.Equal(d.Launches, o.Launches) &&
		d.MeasureKey == o.MeasureKey && d.DecisionKey == o.DecisionKey && d.Retraction == nil && o.Retraction == nil &&
		slices.EqualFunc(d.Rules, o.Rules, func(a, b verdict.Rule) bool { return a.Name == b.Name && a.Verdict == b.Verdict })
}
