package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// LockedNode is a node that the last finished run could not run, and why.
type LockedNode struct {
	Node  string         `json:"node"`
	Phase string         `json:"phase,omitempty"`
	Cause verdict.Reason `json:"cause"`
}

// Locked lists them in the plan's order; never nil. What a run that goes on has
// decided since is locked no longer.
func Locked(st *store.Store) []LockedNode {
	out := []LockedNode{}
	end, at := lastFinished(st)
	if end == nil {
		return out
	}
	since := map[string]bool{}
	for _, d := range st.Decisions() {
		since[d.Node] = d.Record > at
	}
	plan := planned(st)
	for node, cause := range end.Locked {
		if !since[node] && !plan.gone(node) {
			out = append(out, LockedNode{node, phaseOf(end.Nodes, node), cause})
		}
	}
	slices.SortFunc(out, func(a, b LockedNode) int {
		return cmp.Or(plan.place(a.Node)-plan.place(b.Node), strings.Compare(a.Node, b.Node))
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

// Standing are the newest decisions that still stand, in the plan's order: a node
// that is locked now, or that the plan has no more, has none, whatever was decided
// about it before.
func Standing(st *store.Store) []store.Decided {
	locked := map[string]bool{}
	for _, l := range Locked(st) {
		locked[l.Node] = true
	}
	plan := planned(st)
	all := slices.DeleteFunc(st.Decisions(), func(d store.Decided) bool { return locked[d.Node] || plan.gone(d.Node) })
	slices.SortStableFunc(all, func(a, b store.Decided) int { return plan.place(a.Node) - plan.place(b.Node) })
	return all
}

// Gone are the newest decisions about nodes that the plan has no more, in the order
// in which they were made; never nil.
func Gone(st *store.Store) []store.Decided {
	plan := planned(st)
	return slices.DeleteFunc(st.Decisions(), func(d store.Decided) bool { return !plan.gone(d.Node) })
}

// lastFinished is the end of the newest run that came to its end, and its record;
// nil when none did.
func lastFinished(st *store.Store) (end *ledger.End, at int) {
	for i, r := range st.Records() {
		if r.End != nil && r.End.Reason.Code == code.Finished {
			end, at = r.End, i
		}
	}
	return end, at
}
