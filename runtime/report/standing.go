package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// LockedNode is a node that the last finished run could not run, and why.
type LockedNode struct {
	Node  string `json:"node"`
	Phase string `json:"phase,omitempty"`
	Cause string `json:"cause"`
}

// Locked lists them in the plan's order; never nil.
func Locked(st *store.Store) []LockedNode {
	out := []LockedNode{}
	end := lastFinished(st)
	if end == nil {
		return out
	}
	for node, cause := range end.Locked {
		out = append(out, LockedNode{node, phaseOf(end.Nodes, node), cause})
	}
	place := func(l LockedNode) int {
		if i := slices.Index(end.Nodes, l.Node); i >= 0 {
			return i
		}
		return len(end.Nodes)
	}
	slices.SortFunc(out, func(a, b LockedNode) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.Node, b.Node))
	})
	return out
}

// phaseOf is the phase that a node is of: the one in its address, or the next that
// ends behind it in the plan's order, as a phase ends with its gate.
func phaseOf(nodes []string, node string) string {
	if rest, ok := strings.CutPrefix(node, "phase."); ok {
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	at := slices.Index(nodes, node)
	if at < 0 || !strings.HasPrefix(node, "feature.") {
		return ""
	}
	for _, n := range nodes[at:] {
		if name, ok := strings.CutPrefix(n, "phase."); ok && !strings.Contains(name, ".step.") {
			return name
		}
	}
	return ""
}

// Standing are the newest decisions that still stand: a node that is locked now,
// or that the plan has no more, has none, whatever was decided about it before.
func Standing(st *store.Store) []store.Decided {
	gone := map[string]bool{}
	for _, l := range Locked(st) {
		gone[l.Node] = true
	}
	present := nodesNow(st)
	return slices.DeleteFunc(st.Decisions(), func(d store.Decided) bool {
		return gone[d.Node] || present != nil && !present[d.Node]
	})
}

// nodesNow are the nodes of the plan as the last run had it; nil while one is
// under way, which has not said.
func nodesNow(st *store.Store) map[string]bool {
	view, err := st.Run("latest")
	if err != nil || view.End == nil || len(view.End.Nodes) == 0 {
		return nil
	}
	nodes := map[string]bool{}
	for _, n := range view.End.Nodes {
		nodes[n] = true
	}
	return nodes
}

// lastFinished is the end of the newest run that came to its end; nil when none
// did.
func lastFinished(st *store.Store) *ledger.End {
	runs := st.Runs()
	for i := len(runs) - 1; i >= 0; i-- {
		view, err := st.Run(runs[i].ID)
		if err == nil && view.End != nil && view.End.Reason == "finished" {
			return view.End
		}
	}
	return nil
}
