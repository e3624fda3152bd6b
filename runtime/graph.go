// Package runtime turns a plan into a graph of nodes, runs them in order, and
// keeps their outcomes. It does not know what a step is: it asks for a Step and
// gets an outcome. A node that failed (the rule says no) is a value; an error
// means that something broke.
//
// The package shares the standard library's name on purpose; import that one as
// goruntime where both are needed.
package runtime

import (
	"container/heap"
	"fmt"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Kind is what a node decides. The ledger takes decisions of these kinds only.
type Kind string

const (
	// KindQualify: the one launch that earns a variant the right to be measured.
	KindQualify Kind = ledger.KindQualify
	// KindBenchmark: interleaved launches of a candidate and what it is measured against.
	KindBenchmark Kind = ledger.KindBenchmark
	// KindFeature: a feature's criteria, and whether it enters the stack.
	KindFeature Kind = ledger.KindFeature
	// KindCriteria: a feature's criteria on one engine, where it is confirmed on
	// others before it is decided.
	KindCriteria Kind = ledger.KindCriteria
	// KindStep: a command or another piece of work that the plan declares.
	KindStep Kind = ledger.KindStep
	// KindGate: a phase's exit rule.
	KindGate Kind = ledger.KindGate
	// KindPhase: the join of a phase that has no gate.
	KindPhase Kind = ledger.KindPhase
)

// Mode says what a node needs of another one.
type Mode int

const (
	// Passed: its verdict must unlock.
	Passed Mode = iota
	// Decided: it must be decided, whichever way.
	Decided
	// Ended: it must have an outcome, whatever it is.
	Ended
	// Settled: it must have ended, or be locked for good.
	Settled
)

// Need is an edge of the graph.
type Need struct {
	On   string
	Mode Mode
}

// Node is one thing to decide.
type Node struct {
	// ID is the node's address: "baseline", "phase.cutlass",
	// "feature.gemm.benchmark".
	ID    string
	Kind  Kind
	Phase string
	// Feature is the feature's name, empty elsewhere.
	Feature string
	Needs   []Need
	// Host nodes use the machine under test and run one at a time: a build
	// beside a benchmark would be measured with it.
	Host bool
	// Order is the place in the deterministic total order.
	Order int

	// What the node was made from; nil where it does not apply.
	PhaseBlock   *plans.Phase
	FeatureBlock *plans.Feature
	StepBlock    *plans.Block
}

// Graph is the nodes of a plan in a deterministic topological order.
type Graph struct {
	Nodes []*Node
	byID  map[string]*Node
	// siblings are the groups that are measured in one session, by the name of each in
	// it, and of the feature that an alternative may become.
	siblings map[string][]*plans.Feature
}

// Node finds a node by its address; nil when there is none.
func (g *Graph) Node(id string) *Node { return g.byID[id] }

// NewGraph builds the graph of a checked plan. A cycle is an error: Load
// reports cycles with their place, so reaching one here is a mistake in mxflow.
func NewGraph(p *plans.Plan) (*Graph, error) {
	b := &builder{plan: p, g: &Graph{byID: map[string]*Node{}, siblings: map[string][]*plans.Feature{}}}
	phases, err := phaseOrder(p)
	if err != nil {
		return nil, err
	}
	if p.Baseline != nil {
		b.add(&Node{ID: BaselineID, Kind: KindQualify, Host: true, Needs: beforeBaseline(p, phases)})
	}
	for _, ph := range phases {
		b.phase(ph)
	}
	if err := b.g.sort(); err != nil {
		return nil, err
	}
	return b.g, nil
}

// sort puts nodes into topological order, first come first, and numbers them.
func (g *Graph) sort() error {
	waiting := map[string]int{}
	dependents := map[string][]*Node{}
	for _, n := range g.Nodes {
		for _, need := range n.Needs {
			if g.byID[need.On] == nil {
				return fmt.Errorf("node %s needs %s, which does not exist", n.ID, need.On)
			}
			dependents[need.On] = append(dependents[need.On], n)
			waiting[n.ID]++
		}
	}
	for i, n := range g.Nodes {
		n.Order = i
	}
	ready := &queue{}
	for _, n := range g.Nodes {
		if waiting[n.ID] == 0 {
			heap.Push(ready, n)
		}
	}
	out := make([]*Node, 0, len(g.Nodes))
	for ready.Len() > 0 {
		n := heap.Pop(ready).(*Node)
		out = append(out, n)
		for _, d := range dependents[n.ID] {
			if waiting[d.ID]--; waiting[d.ID] == 0 {
				heap.Push(ready, d)
			}
		}
	}
	if len(out) < len(g.Nodes) {
		return fmt.Errorf("the graph has a cycle among %d nodes", len(g.Nodes)-len(out))
	}
	for i, n := range out {
		n.Order = i
	}
	g.Nodes = out
	return nil
}
