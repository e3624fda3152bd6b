package runtime

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Waivable reports whether a person may waive the decisions of a kind of node: those that
// unlock other phases, with a gate or without. Not those that measurements compare with,
// as a waiver makes no number count, nor what enters the stack.
func Waivable(k Kind) bool { return k == KindGate || k == KindPhase }

// validWaiver is the waiver that holds for a decision; nil if there is none.
func (w *walk) validWaiver(d *ledger.Decision) *ledger.Waiver {
	if d == nil || !Waivable(Kind(d.Kind)) || d.Verdict.Unlocks() {
		return nil
	}
	if waiver := w.Journal.Waiver(d.Node); waiver.Covers(d, w.at) {
		return waiver
	}
	return nil
}

// waiverEffect is a waiver's effect on a decision; no fact if there is none.
func (w *walk) waiverEffect(d *ledger.Decision) verdict.Reason {
	if d == nil || !Waivable(Kind(d.Kind)) {
		return verdict.Reason{}
	}
	return w.Journal.Waiver(d.Node).Effect(d, w.at)
}

// lockReason is why a need of n keeps n from ever running, with the root cause and not the last
// link of the chain; no fact if it does not. A withdrawn outcome locks everything that
// rests on it, whatever it needs, except a node that only decides: then it is decided, as
// invalid.
func (w *walk) lockReason(n *Node, need Need) verdict.Reason {
	d := w.outcomes[need.On]
	if d == nil {
		if need.Mode == Settled {
			return verdict.Reason{}
		}
		return w.locked[need.On]
	}
	if w.validWaiver(d) != nil {
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
		unmet = d.Retraction != nil && underStack(n, w.Graph.Node(need.On), d)
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
	if waiver := w.waiverEffect(d); !waiver.IsZero() {
		why = why.From(waiver)
		if d.Retraction == nil { // the waiver did not cause the verdict
			why.Text += " ({causes})"
		}
	}
	return why
}

// underStack reports whether n was measured on top of another feature because that was
// accepted: then it rests on that although it only waited for it.
func underStack(n, on *Node, d *ledger.Decision) bool {
	if on == nil || on.Kind != KindFeature || on.Feature == n.Feature || Waivable(n.Kind) {
		return false
	}
	return d.Accepted || d.Retraction != nil && d.Retraction.Accepted
}

// restsOn reports whether the outcome of n rests on d, the outcome of a need.
func restsOn(n *Node, need Need, on *Node, d *ledger.Decision) bool {
	switch {
	case need.Mode != Settled:
		return true
	case on.Kind == KindFeature && on.Feature != n.Feature && !Waivable(n.Kind):
		return underStack(n, on, d)
	case n.Kind == KindBenchmark:
		// It waits for its siblings' qualification too.
		return on.Kind == KindQualify && on.FeatureBlock == n.FeatureBlock
	}
	return DecidesAlone(n.Kind)
}

// Dependents are the nodes with an outcome that rests, directly or not, on that of the
// node, in graph order, including those that are only locked by it (steps and
// measurements). latest is the newest decision about a node, or nil.
func (g *Graph) Dependents(id string, latest func(id string) *ledger.Decision) []*Node {
	on := map[string]bool{id: true}
	var out []*Node
	for _, n := range g.Nodes {
		if latest(n.ID) == nil || on[n.ID] {
			continue
		}
		if slices.ContainsFunc(n.Needs, func(need Need) bool {
			d := latest(need.On)
			return on[need.On] && d != nil && restsOn(n, need, g.Node(need.On), d)
		}) {
			on[n.ID] = true
			out = append(out, n)
		}
	}
	return out
}

// overrule applies people's retractions to an outcome: to a retracted one, to those that
// rest on it, and to those that rest on its launches under another name or in another
// attempt. Only --rerun gets another outcome from the launches of a retracted one.
func (w *walk) overrule(s *Scope, d *ledger.Decision) *ledger.Decision {
	p := s.Previous
	if DecidesAlone(s.Node.Kind) {
		if by := w.retracted(s.Node); by != nil {
			switch {
			case p == nil:
				return &ledger.Decision{Verdict: verdict.Invalid, Derived: true, Reasons: []verdict.Reason{by.Of(s.Node.ID)}}
			case p.Derived && p.Verdict == verdict.Invalid && p.Retraction == nil && p.MeasureKey == s.Key:
				return p // as below
			case p.Retracted(), p.Withdrawn() && p.Retraction.Node == by.Node && p.Retraction.Reason == by.Reason && p.Retraction.By == by.By:
				return p
			}
			return p.Withdraw(*by)
		}
	}
	if s.Forced || d.Retraction != nil {
		return d
	}
	if p.Retracted() && (p.MeasureKey == s.Key || len(p.Launches) > 0 && includes(d.Launches, measured(p.Launches))) {
		return p
	}
	for _, was := range slices.Backward(w.Journal.History(s.Node.ID)) {
		if len(was.Launches) == 0 || was.Withdrawn() || !includes(d.Launches, measured(was.Launches)) && !decidesBy(d, was.Launches) {
			continue
		}
		if !was.Retracted() {
			break // it was decided on them since
		}
		out := was.Withdraw(*was.Retraction)
		out.Launches, out.Session = d.Launches, d.Session
		out.Reasons = append(out.Reasons, verdict.Say("retraction.same_launches",
			"same launches as when it was retracted; --rerun measures again"))
		return out
	}
	if !d.Verdict.Unlocks() || !DecidesAlone(s.Node.Kind) {
		return d
	}
	// Renaming a feature, or writing it a second time, does not undo a retraction.
	for _, was := range w.retractions {
		if was.Node == s.Node.ID || len(was.Launches) == 0 || !measuredIn(d.Launches, was) {
			continue
		}
		return &ledger.Decision{
			Derived: true, Verdict: verdict.Invalid, Launches: d.Launches, Session: d.Session, Variant: d.Variant,
			Reasons: []verdict.Reason{
				verdict.Say("retraction.launches_of",
					"based on launches of {subject}, which was retracted by {by}: {reason}",
					verdict.Text("by", was.Retraction.By), verdict.Text("reason", was.Retraction.Reason)).On(was.Node),
				verdict.Say("rerun_measures", "--rerun measures again"),
			},
		}
	}
	return d
}

// retracted is the retraction by which an outcome below a node was withdrawn: a gate
// reads measurements that were not withdrawn, and would pass by them. nil if there is
// none.
func (w *walk) retracted(n *Node) *ledger.Retraction {
	for _, need := range n.Needs {
		d, on := w.outcomes[need.On], w.Graph.Node(need.On)
		if d == nil || !restsOn(n, need, on, d) || w.validWaiver(d) != nil {
			continue
		}
		if d.Retraction != nil {
			return d.Retraction
		}
		if on.Kind != KindBenchmark {
			continue
		}
		// It rests on a qualification, and decides nothing by itself.
		for _, below := range on.Needs {
			q := w.outcomes[below.On]
			if q != nil && q.Retraction != nil && restsOn(on, below, w.Graph.Node(below.On), q) && w.validWaiver(q) == nil {
				return q.Retraction
			}
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

func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(all, id) })
}
