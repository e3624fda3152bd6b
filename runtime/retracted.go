package runtime

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// retractedBefore is a decision, or what takes its place where a person retracted what
// its launches show.
func (o *overrule) retractedBefore(s *Scope, d *ledger.Decision) *ledger.Decision {
	if again := staysRetracted(s, d, o.journal.History(s.Node.ID)); again != nil {
		return again
	}
	if again := o.retractedElsewhere(s, d); again != nil {
		return again
	}
	return d
}

// staysRetracted is the outcome of a node that was decided over launches of which a
// person said that what they show is wrong: also when the measurement was changed
// and changed back, and when more launches were added. Only who asks for the node
// again gets another outcome from them. nil where d may stand.
func staysRetracted(s *Scope, d *ledger.Decision, history []*ledger.Decision) *ledger.Decision {
	if s.Asked() || d.Retraction != nil {
		return nil
	}
	for _, was := range slices.Backward(history) {
		if len(was.Launches) == 0 || was.Withdrawn() || !includes(d.Launches, measured(was.Launches)) && !decidesBy(d, was.Launches) {
			continue
		}
		if !was.Retracted() {
			return nil
		}
		again := was.Withdraw(*was.Retraction)
		again.Attempt, again.Because, again.Launches, again.Session, again.Seconds = s.Attempt, s.Because, d.Launches, d.Session, d.Seconds
		again.MeasureKey, again.DecisionKey = s.Keys.Measure, s.Keys.Decide
		again.Reasons = append(again.Reasons, verdict.New(code.SameLaunches))
		return again
	}
	return nil
}

// retractedElsewhere is the outcome of a node that would pass by the launches with
// which a person retracted a feature of another name: a feature that is renamed, or
// written a second time, does not get rid of what was said of its launches. nil
// where d may stand.
func (o *overrule) retractedElsewhere(s *Scope, d *ledger.Decision) *ledger.Decision {
	if s.Asked() || d.Retraction != nil || !d.Verdict.Unlocks() || !DecidesAlone(Kind(d.Kind)) {
		return nil
	}
	for _, was := range o.retracted {
		if was.Node == d.Node || len(was.Launches) == 0 || !measuredIn(d.Launches, was) {
			continue
		}
		return &ledger.Decision{
			Node: d.Node, Kind: d.Kind, Phase: d.Phase, Feature: d.Feature, MeasureKey: d.MeasureKey, DecisionKey: d.DecisionKey,
			Attempt: d.Attempt, Because: d.Because, Supersedes: d.Supersedes, Derived: true,
			Verdict: verdict.Invalid, Launches: d.Launches, Session: d.Session, Variant: d.Variant,
			Reasons: []verdict.Reason{
				verdict.New(code.LaunchesOf, verdict.Text("by", was.Retraction.By), verdict.Text("reason", was.Retraction.Reason)).On(was.Node),
				verdict.New(code.RerunMeasures),
			},
		}
	}
	return nil
}

// measuredIn reports whether launches include those of the session that a decision
// rested on: under another name a candidate is qualified anew.
func measuredIn(launches []string, was *ledger.Decision) bool {
	found := false
	for _, id := range was.Launches {
		if was.Session == "" || !strings.HasPrefix(id, was.Session+".") {
			continue
		}
		if found = true; !slices.Contains(launches, id) {
			return false
		}
	}
	return found
}

// QualifyLaunch begins the ID of a launch that qualifies.
const QualifyLaunch = "q-"

// measured are the launches that numbers come from, where there are any: what is
// qualified anew is not measured anew.
func measured(ids []string) []string {
	numbers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.HasPrefix(id, QualifyLaunch) })
	if len(numbers) == 0 {
		return ids
	}
	return numbers
}

// decidesBy reports whether the candidate of a feature stands on some of these
// launches, whatever else was measured: another alternative anew, for example.
func decidesBy(d *ledger.Decision, launches []string) bool {
	for _, ev := range d.Evidence {
		if d.Feature == "" || ev.Feature != d.Feature {
			continue
		}
		if slices.ContainsFunc(ev.Candidate.Launches, func(id string) bool { return slices.Contains(launches, id) }) {
			return true
		}
	}
	return false
}

// shownWrong reports whether a person retracted what the launches of a benchmark
// showed: of the feature, or on its engine alone.
func (o *overrule) shownWrong(n *Node) bool {
	ids := []string{FeatureID(n.Feature), FirstID(n.Feature)}
	if f := n.FeatureBlock; f != nil && f.Engine != "" {
		ids[1] = FeatureID(f.Name) // what confirms it
	}
	return slices.ContainsFunc(ids, func(id string) bool { return o.journal.Latest(id).Retracted() })
}

func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(all, id) })
}
