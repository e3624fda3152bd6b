package report

import (
	"slices"
	"sort"

	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// LockedNode is a node that the last finished run could not run, and why.
type LockedNode struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
}

// Locked lists them by address; never nil.
func Locked(st *store.Store) []LockedNode {
	out := []LockedNode{}
	if end := lastFinished(st); end != nil {
		for node, cause := range end.Locked {
			out = append(out, LockedNode{node, cause})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Node < out[j].Node })
	return out
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
