package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// underStack reports whether n was measured on top of another feature because
// that was accepted: then it rests on that although it only waited for it.
func underStack(n, on *Node, d *ledger.Decision) bool {
	if on == nil || on.Kind != KindFeature || on.Feature == n.Feature || Waivable(n.Kind) {
		return false
	}
	return d.Accepted || d.Retraction != nil && d.Retraction.Accepted
}

// rests reports whether the outcome of n rests on d, that of what it needs.
func rests(n *Node, need Need, on *Node, d *ledger.Decision) bool {
	switch {
	case need.Mode != Settled:
		return true
	case on.Kind == KindFeature && on.Feature != n.Feature && !Waivable(n.Kind):
		return underStack(n, on, d)
	case n.Kind == KindBenchmark:
		// It waits for its siblings' qualification too.
		return on.Kind == KindQualify && on.FeatureBlock == n.FeatureBlock
	}
	return pure(n.Kind)
}

// Dependents are the nodes with an outcome that rests, directly or not, on that of
// the node: in the order of the graph, with what only locks (steps and
// measurements) among them. latest is the newest decision about a node, or nil.
func (g *Graph) Dependents(id string, latest func(id string) *ledger.Decision) []*Node {
	on := map[string]bool{id: true}
	var out []*Node
	for _, n := range g.Nodes {
		if latest(n.ID) == nil || on[n.ID] {
			continue
		}
		if slices.ContainsFunc(n.Needs, func(need Need) bool {
			d := latest(need.On)
			return on[need.On] && d != nil && rests(n, need, g.Node(need.On), d)
		}) {
			on[n.ID] = true
			out = append(out, n)
		}
	}
	return out
}

// DecidesAlone reports whether nodes of a kind follow from recorded evidence: their
// outcome can be withdrawn and made again without measuring.
func DecidesAlone(k Kind) bool { return pure(k) }

// withdrawnBelow is the withdrawn outcome that a deciding node rests on; nil when
// there is none.
func withdrawnBelow(n *Node, o *overrule, outcome func(id string) *ledger.Decision) *ledger.Decision {
	if !pure(n.Kind) {
		return nil
	}
	for _, need := range n.Needs {
		d, on := outcome(need.On), o.graph.Node(need.On)
		if d == nil || !rests(n, need, on, d) || o.covers(d) != nil {
			continue
		}
		if d.Retraction != nil {
			return d
		}
		if on.Kind == KindBenchmark {
			// It rests on a qualification, and decides nothing by itself.
			for _, below := range on.Needs {
				if q := outcome(below.On); q != nil && q.Retraction != nil && rests(on, below, o.graph.Node(below.On), q) && o.covers(q) == nil {
					return q
				}
			}
		}
	}
	return nil
}

// sameRetraction reports whether two outcomes were withdrawn by one act.
func sameRetraction(a, b *ledger.Retraction) bool {
	return a != nil && b != nil && a.Node == b.Node && a.Reason == b.Reason && a.By == b.By
}

// instead is what a node runs: its step, or, where it would decide over an
// outcome that was withdrawn, the finding that it must not. A gate reads
// measurements that nobody withdrew, and would pass by them.
func (o *overrule) instead(n *Node, s *Scope, step Step) Step {
	if by := withdrawnBelow(n, o, s.Outcome); by != nil {
		return withdrawn{step, by}
	}
	return step
}

type withdrawn struct {
	Step
	by *ledger.Decision
}

func (w withdrawn) Run(_ context.Context, s *Scope) (*ledger.Decision, error) {
	if s.Previous != nil {
		return s.Previous.Withdraw(*w.by.Retraction), nil
	}
	return &ledger.Decision{Verdict: verdict.Invalid, Reasons: []string{w.by.Retraction.SaysOf(s.Node.ID)}}, nil
}

// staysRetracted is the outcome of a node that was decided over launches of which a
// person said that what they show is wrong: also when the measurement was changed
// and changed back, and when more launches were added. Only who asks for the node
// again gets another outcome from them. nil where d may stand.
func staysRetracted(s *Scope, d *ledger.Decision, history []*ledger.Decision) *ledger.Decision {
	if s.Because == rerunAsked || d.Retraction != nil {
		return nil
	}
	for _, was := range slices.Backward(history) {
		if len(was.Launches) == 0 || was.Withdrawn() || !includes(d.Launches, was.Launches) {
			continue
		}
		if !was.Retracted() {
			return nil
		}
		again := was.Withdraw(*was.Retraction)
		again.Attempt, again.Because, again.Launches, again.Session, again.Seconds = s.Attempt, s.Because, d.Launches, d.Session, d.Seconds
		again.MeasureKey, again.DecisionKey = s.Keys.Measure, s.Keys.Decide
		again.Reasons = append(again.Reasons, "it rests on the launches with which it was retracted; --rerun measures again")
		return again
	}
	return nil
}

// retractedElsewhere is the outcome of a node that would pass by the launches with
// which a person retracted a feature of another name: a feature that is renamed, or
// written a second time, does not get rid of what was said of its launches. nil
// where d may stand.
func (o *overrule) retractedElsewhere(s *Scope, d *ledger.Decision) *ledger.Decision {
	if s.Because == rerunAsked || d.Retraction != nil || !d.Verdict.Unlocks() || !pure(Kind(d.Kind)) {
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
			Reasons: []string{
				fmt.Sprintf("rests on the launches with which %s was %s", was.Node, was.Retraction.SaysOf(was.Retraction.Node)),
				"--rerun measures again",
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

func includes(all, some []string) bool {
	return !slices.ContainsFunc(some, func(id string) bool { return !slices.Contains(all, id) })
}
