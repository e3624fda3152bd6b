package runtime

import (
	"context"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// underStack reports whether n was measured on top of another feature because that was
// accepted: then it rests on that although it only waited for it.
func underStack(n, on *Node, d *ledger.Decision) bool {
	if on == nil || on.Kind != KindFeature || on.Feature == n.Feature || Waivable(n.Kind) {
		return false
	}
	return d.Accepted || d.Retraction != nil && d.Retraction.Accepted
}

// rests reports whether the outcome of n rests on d, the outcome of a need.
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
			return on[need.On] && d != nil && rests(n, need, g.Node(need.On), d)
		}) {
			on[n.ID] = true
			out = append(out, n)
		}
	}
	return out
}

// withdrawnBelow is the withdrawn outcome that a deciding node rests on; nil if there is
// none.
func withdrawnBelow(n *Node, o *overrule, outcome func(id string) *ledger.Decision) *ledger.Decision {
	if !DecidesAlone(n.Kind) {
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

// instead is what a node runs: its step or, if it would decide on a withdrawn outcome,
// the finding that it must not. A gate reads measurements that nobody withdrew, and would
// pass by them.
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
	return &ledger.Decision{Verdict: verdict.Invalid, Reasons: []verdict.Reason{w.by.Retraction.Of(s.Node.ID)}}, nil
}
