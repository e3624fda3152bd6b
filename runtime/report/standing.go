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
	Decided *store.Decided
	// Locked is why it could not run; no fact if it could.
	Locked verdict.Reason
	// Gone is set if the plan no longer has it.
	Gone bool
}

// Rows are all nodes of the plan in its order, followed by decided nodes that it once
// had. A node that is locked now has no decision, whatever was decided about it before.
func Rows(st *store.Store) []Row {
	plan, decisions := planned(st), st.Decisions()
	locked := lockedNow(st, decisions)
	var rows, gone []Row
	known := map[string]bool{}
	for _, d := range decisions {
		switch _, isLocked := locked[d.Node]; {
		case plan.gone(d.Node):
			gone = append(gone, Row{Node: d.Node, Phase: d.Phase, Decided: &d, Gone: true})
		case !isLocked:
			rows = append(rows, Row{Node: d.Node, Phase: d.Phase, Decided: &d})
			known[d.Node] = true
		}
	}
	for _, node := range slices.Sorted(maps.Keys(locked)) {
		if !plan.gone(node) {
			rows = append(rows, Row{Node: node, Phase: phaseOf(plan.nodes, node), Locked: locked[node]})
			known[node] = true
		}
	}
	for _, node := range plan.nodes {
		if plan.newest && !known[node] {
			rows = append(rows, Row{Node: node, Phase: phaseOf(plan.nodes, node)})
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return plan.place(a.Node) - plan.place(b.Node) })
	return append(rows, gone...)
}

// lockedNow are the nodes that the last finished run could not run, and why. What a
// continuing run has decided since is no longer locked.
func lockedNow(st *store.Store, decisions []store.Decided) map[string]verdict.Reason {
	end, at := lastFinished(st)
	if end == nil {
		return nil
	}
	locked := maps.Clone(end.Locked)
	for i, r := range st.Records() {
		if i > at && r.RunStart != nil {
			// What --target left out was left out for that run only.
			maps.DeleteFunc(locked, func(_ string, why verdict.Reason) bool { return why.Kind == code.NotTargeted.Kind })
		}
	}
	for _, d := range decisions {
		if d.Record > at {
			delete(locked, d.Node)
		}
	}
	return locked
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

func decided(r Row) store.Decided { return *r.Decided }

// Standing are the newest decisions that still stand, in the plan's order.
func Standing(st *store.Store) []store.Decided {
	return rowsThat(st, func(r Row) bool { return r.Decided != nil && !r.Gone }, decided)
}

// Gone are the newest decisions about nodes that the plan no longer has, in the order in
// which they were made.
func Gone(st *store.Store) []store.Decided {
	return rowsThat(st, func(r Row) bool { return r.Gone }, decided)
}

// LockedNode is a node that the last finished run could not run, and why.
type LockedNode struct {
	Node  string         `json:"node"`
	Phase string         `json:"phase,omitempty"`
	Cause verdict.Reason `json:"cause"`
}

// Locked lists them in the plan's order.
func Locked(st *store.Store) []LockedNode {
	return rowsThat(st, func(r Row) bool { return !r.Locked.IsZero() }, func(r Row) LockedNode { return LockedNode{r.Node, r.Phase, r.Locked} })
}

// UndecidedNode is a node that the newest run has not reached.
type UndecidedNode struct {
	Node  string `json:"node"`
	Phase string `json:"phase,omitempty"`
}

// Undecided are the nodes of the plan that are neither decided nor known to be
// locked, in its order.
func Undecided(st *store.Store) []UndecidedNode {
	return rowsThat(st, func(r Row) bool { return r.Decided == nil && r.Locked.IsZero() }, func(r Row) UndecidedNode { return UndecidedNode{r.Node, r.Phase} })
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

// lastFinished is the end of the newest finished run, and its record; nil if there is
// none.
func lastFinished(st *store.Store) (end *ledger.End, at int) {
	for i, r := range st.Records() {
		if r.End != nil && r.End.Reason.Kind == code.Finished.Kind {
			end, at = r.End, i
		}
	}
	return end, at
}

// plan is what a state directory knows of its plan: its nodes in the order of an apply.
type plan struct {
	nodes  []string
	places map[string]int
	// newest is set if these are the nodes of the newest run.
	newest bool
}

// planned is the plan of the newest run that recorded one.
func planned(st *store.Store) plan {
	p := plan{places: map[string]int{}}
	runs := st.Runs()
	for i := len(runs) - 1; i >= 0 && len(p.nodes) == 0; i-- {
		view, err := st.Run(runs[i].ID)
		if err != nil {
			continue
		}
		if view.Start != nil {
			p.nodes = view.Start.Nodes
		}
		p.newest = i == len(runs)-1
	}
	for i, n := range p.nodes {
		p.places[n] = i + 1
	}
	return p
}

// gone reports whether the plan no longer has a node, as far as known.
func (p plan) gone(node string) bool {
	return p.newest && len(p.nodes) > 0 && p.places[node] == 0
}

// place is a node's position in the plan; unknown ones come last.
func (p plan) place(node string) int {
	if at := p.places[node]; at > 0 {
		return at
	}
	return len(p.nodes) + 1
}
