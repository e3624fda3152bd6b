package runtime

import (
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// overrule is what people overrode, as of one instant: a waiver that expires during an
// apply holds for all of it, so what unlocks does not depend on how fast launches were.
type overrule struct {
	graph   *Graph
	journal Journal
	now     time.Time
	// kept are the phases whose gate is waived as last decided: what broke below it is
	// not tried again, which would create another decision of the gate.
	kept map[string]bool
	// retracted are decisions about features that people withdrew, under any name.
	retracted []*ledger.Decision
}

func (r *Runner) overrule() *overrule {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	o := &overrule{graph: r.Graph, journal: r.Journal, now: now(), kept: map[string]bool{}, retracted: r.Journal.Retracted()}
	for _, n := range r.Graph.Nodes {
		if n.Phase != "" && Waivable(n.Kind) && o.covers(r.Journal.Latest(n.ID)) != nil {
			o.kept[n.Phase] = true
		}
	}
	return o
}

// Waivable reports whether a person may waive the decisions of a kind of node: those that
// unlock other phases, with a gate or without. Not those that measurements compare with,
// as a waiver makes no number count, nor what enters the stack.
func Waivable(k Kind) bool { return k == KindGate || k == KindPhase }

// covers is the waiver that holds for a decision; nil if there is none.
func (o *overrule) covers(d *ledger.Decision) *ledger.Waiver {
	if d == nil || !Waivable(Kind(d.Kind)) || d.Verdict.Unlocks() {
		return nil
	}
	if w := o.journal.Waiver(d.Node); w.Covers(d, o.now) {
		return w
	}
	return nil
}

// bears is a waiver's effect on a decision; no fact if there is none.
func (o *overrule) bears(d *ledger.Decision) verdict.Reason {
	if d == nil || !Waivable(Kind(d.Kind)) {
		return verdict.Reason{}
	}
	return o.journal.Waiver(d.Node).Bears(d, o.now)
}

// bars is why the outcome of a need of n keeps n from ever running; empty if it does not.
// A withdrawn outcome locks everything that rests on it, whatever it needs, except a node
// that only decides: then it is decided, as invalid.
func (o *overrule) bars(n *Node, need Need, d *ledger.Decision) verdict.Reason {
	if o.covers(d) != nil {
		return verdict.Reason{}
	}
	unmet := false
	switch need.Mode {
	case Passed:
		unmet = !d.Verdict.Unlocks()
	case Decided:
		unmet = !d.Verdict.Decided() || d.Disturbed()
	case Ended:
		unmet = d.Retraction != nil
	case Settled:
		unmet = d.Retraction != nil && underStack(n, o.graph.Node(need.On), d)
	}
	if !unmet {
		return verdict.Reason{}
	}
	why := verdict.New(code.Outcome).On(need.On).Is(d.Verdict)
	if d.Retraction != nil {
		// The root cause; why it was retracted is recorded there.
		why = verdict.Say("retraction.node", "{subject} was retracted by {by}{causes? ({causes})}",
			verdict.Text("by", d.Retraction.By)).On(d.Retraction.Node)
	}
	if waiver := o.bears(d); !waiver.IsZero() {
		why = why.From(waiver)
		if d.Retraction == nil { // the waiver did not cause the verdict
			why.Text += " ({causes})"
		}
	}
	return why
}

// choose is Choose with people's overrides. A node that decides on a withdrawn outcome
// keeps the invalid outcome that says so; what did not pass below a waived gate, or for a
// retracted feature, is kept.
func (o *overrule) choose(n *Node, s *Scope, rerun bool) Choice {
	c := choose(n, s.Previous, s.Keys, rerun)
	previous := s.Previous
	if by := withdrawnBelow(n, o, s.Outcome); by != nil {
		same := previous != nil && previous.MeasureKey == s.Keys.Measure && previous.DecisionKey == s.Keys.Decide
		switch {
		case previous == nil:
		case previous.Retracted(),
			previous.Withdrawn() && sameRetraction(previous.Retraction, by.Retraction),
			same && previous.Verdict == verdict.Invalid && previous.Derived:
			return Choice{Reuse, Unchanged, verdict.New(code.Unchanged), previous.Attempt}
		}
		return Choice{Redecide, Withdrawn, verdict.New(code.OnRetracted), c.Attempt}
	}
	if (c.Action == Redecide || c.Why == RulesRelaxed) && n.Kind == KindBenchmark && o.shownWrong(n) {
		// Whatever rules need, its launches would no longer count.
		return Choice{Reuse, Withdrawn, verdict.Say("shown_wrong", "its evidence was retracted"), previous.Attempt}
	}
	if c.Why != Retry {
		return c
	}
	if o.kept[n.Phase] {
		return Choice{Reuse, Withdrawn, verdict.Say("gate_waived", "gate waived"), previous.Attempt}
	}
	if (n.Kind == KindQualify || n.Kind == KindBenchmark) && n.Feature != "" && o.shownWrong(n) {
		// An alternative that broke cannot win a retracted feature.
		return Choice{Reuse, Withdrawn, verdict.Say("feature_was_retracted", "its feature was retracted"), previous.Attempt}
	}
	return c
}

// chosen is what a run does with any node, for the step of another.
func (o *overrule) chosen(s *Scope) func(n *Node, keys Keys) Choice {
	return func(n *Node, keys Keys) Choice {
		rerun := s.Rerun != nil && s.Rerun(n)
		return o.choose(n, &Scope{Previous: o.journal.Latest(n.ID), Keys: keys, Outcome: s.Outcome}, rerun)
	}
}

// retractedBefore is a decision, or its replacement if a person retracted what its
// launches show.
func (o *overrule) retractedBefore(s *Scope, d *ledger.Decision) *ledger.Decision {
	if again := staysRetracted(s, d, o.journal.History(s.Node.ID)); again != nil {
		return again
	}
	if again := o.retractedElsewhere(s, d); again != nil {
		return again
	}
	return d
}

// staysRetracted is the outcome of a node decided on launches whose findings a person
// called wrong: also if the measurement was changed and changed back, or more launches
// were added. Only --rerun gets another outcome from them. nil if d may stand.
func staysRetracted(s *Scope, d *ledger.Decision, history []*ledger.Decision) *ledger.Decision {
	if s.Why == Rerun || d.Retraction != nil {
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
		again.Reasons = append(again.Reasons, verdict.Say("retraction.same_launches",
			"same launches as when it was retracted; --rerun measures again"))
		return again
	}
	return nil
}

// retractedElsewhere is the outcome of a node that would pass by launches with which a
// person retracted a feature of another name: renaming a feature, or writing it a second
// time, does not undo the retraction. nil if d may stand.
func (o *overrule) retractedElsewhere(s *Scope, d *ledger.Decision) *ledger.Decision {
	if s.Why == Rerun || d.Retraction != nil || !d.Verdict.Unlocks() || !DecidesAlone(Kind(d.Kind)) {
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
				verdict.Say("retraction.launches_of",
					"based on launches of {subject}, which was retracted by {by}: {reason}",
					verdict.Text("by", was.Retraction.By), verdict.Text("reason", was.Retraction.Reason)).On(was.Node),
				verdict.Say("rerun_measures", "--rerun measures again"),
			},
		}
	}
	return nil
}

// measuredIn reports whether launches include those of the session that a decision rested
// on: under another name a candidate is qualified again.
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

// QualifyLaunch is the prefix of a qualification launch's ID.
const QualifyLaunch = "q-"

// measured are the launches that numbers come from, if there are any: a repeated
// qualification is not a repeated measurement.
func measured(ids []string) []string {
	numbers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.HasPrefix(id, QualifyLaunch) })
	if len(numbers) == 0 {
		return ids
	}
	return numbers
}

// decidesBy reports whether a feature's candidate is among these launches, whatever else
// was measured, such as another alternative.
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

// shownWrong reports whether a person retracted what the launches of a benchmark showed:
// for the feature, or on its engine alone.
func (o *overrule) shownWrong(n *Node) bool {
	ids := []string{FeatureID(n.Feature), FirstID(n.Feature)}
	if f := n.FeatureBlock; f != nil && f.Engine != "" {
		ids[1] = FeatureID(f.Name) // its confirmation
	}
	return slices.ContainsFunc(ids, func(id string) bool { return o.journal.Latest(id).Retracted() })
}

func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(all, id) })
}
