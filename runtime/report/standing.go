package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Row is a node and its state: decided, locked, or neither.
type Row struct {
	Node, Phase string
	// Decided is nil if no decision stands.
	Decided *ledger.Decided
	// Locked is why it could not run; no fact if it could.
	Locked verdict.Reason
	// Gone is set if the plan no longer has it.
	Gone bool
}

// Rows are all nodes of the plan in its order, followed by decided nodes that it once
// had. A node that is locked now has no decision, whatever was decided about it before.
func Rows(st *store.Store) []Row {
	// The plan is that of the newest run that recorded its nodes.
	var nodes []string
	runs, newest := st.Runs(), false
	for i := len(runs) - 1; i >= 0 && len(nodes) == 0; i-- {
		if view, err := st.Run(runs[i].ID); err == nil {
			if newest = i == len(runs)-1; view.Start != nil {
				nodes = view.Start.Nodes
			}
		}
	}
	places := map[string]int{} // before 0, where all other nodes are
	for i, n := range nodes {
		places[n] = i - len(nodes)
	}
	outside := func(node string) bool { return newest && len(nodes) > 0 && places[node] == 0 }

	// Locked is what the last finished run could not run, unless it was decided since. What
	// --target left out was left out for that run only.
	locked, finished := map[string]verdict.Reason(nil), -1
	for i, r := range st.Records() {
		switch {
		case st.Aside(r.Run):
		case r.End != nil && r.End.Reason.Kind == code.Finished.Kind:
			locked, finished = maps.Clone(r.End.Locked), i
		case r.RunStart != nil:
			maps.DeleteFunc(locked, func(_ string, why verdict.Reason) bool {
				return why.Kind == code.NotTargeted.Kind
			})
		}
	}
	var rows, gone []Row
	known := map[string]bool{}
	for _, d := range st.Decisions() {
		if d.Record > finished {
			delete(locked, d.Node)
		}
		switch _, isLocked := locked[d.Node]; {
		case outside(d.Node):
			gone = append(gone, Row{Node: d.Node, Phase: d.Phase, Decided: &d, Gone: true})
		case !isLocked:
			rows = append(rows, Row{Node: d.Node, Phase: d.Phase, Decided: &d})
			known[d.Node] = true
		}
	}
	for _, node := range slices.Sorted(maps.Keys(locked)) {
		if !outside(node) {
			rows = append(rows, Row{Node: node, Phase: phaseOf(nodes, node), Locked: locked[node]})
			known[node] = true
		}
	}
	for _, node := range nodes {
		if newest && !known[node] {
			rows = append(rows, Row{Node: node, Phase: phaseOf(nodes, node)})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return places[a.Node] - places[b.Node] })
	return append(rows, gone...)
}

// rowsThat are the rows that somebody wants, as they want them; never nil.
func rowsThat[T any](st *store.Store, want func(Row) bool, as func(Row) T) []T {
	out := []T{}
	for _, r := range Rows(st) {
		if want(r) {
			out = append(out, as(r))
		}
	}
	return out
}

func decided(r Row) ledger.Decided { return *r.Decided }

// DecisionsInForce are the newest decisions that still stand, in the plan's order.
func DecisionsInForce(st *store.Store) []ledger.Decided {
	return rowsThat(st, func(r Row) bool { return r.Decided != nil && !r.Gone }, decided)
}

// Gone are the newest decisions about nodes that the plan no longer has, in the order in
// which they were made.
func Gone(st *store.Store) []ledger.Decided {
	return rowsThat(st, func(r Row) bool { return r.Gone }, decided)
}

// Waiting is a node without a decision: one that the last finished run could not run, with
// the cause, or one that the newest run has not reached.
type Waiting struct {
	Node  string         `json:"node"`
	Phase string         `json:"phase,omitempty"`
	Cause verdict.Reason `json:"cause,omitzero"`
}

func waiting(r Row) Waiting { return Waiting{r.Node, r.Phase, r.Locked} }

// Locked are the nodes that are locked, in the plan's order.
func Locked(st *store.Store) []Waiting {
	return rowsThat(st, func(r Row) bool { return !r.Locked.IsZero() }, waiting)
}

// Undecided are the nodes of the plan that are neither decided nor known to be
// locked, in its order.
func Undecided(st *store.Store) []Waiting {
	return rowsThat(st, func(r Row) bool { return r.Decided == nil && r.Locked.IsZero() }, waiting)
}

// phaseOf is a node's phase: the one in its address, or the next that ends after it in
// the plan's order, as a phase ends with its gate.
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
