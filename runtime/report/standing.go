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
			out = append(out, LockedNode{node, phaseOf(plan.nodes, node), cause})
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

// Row is a node and how it stands: decided, locked, or neither.
type Row struct {
	Node, Phase string
	// Decided is nil where no decision stands.
	Decided *store.Decided
	// Locked is why it could not run; no fact where it could.
	Locked verdict.Reason
	// Gone is set where the plan has it no more.
	Gone bool
}

// Rows are all nodes of the plan in its order, and behind them what was decided
// about others that it had once.
func Rows(st *store.Store) []Row {
	var rows []Row
	for _, d := range Standing(st) {
		rows = append(rows, Row{Node: d.Node, Phase: d.Phase, Decided: &d})
	}
	for _, l := range Locked(st) {
		rows = append(rows, Row{Node: l.Node, Phase: l.Phase, Locked: l.Cause})
	}
	for _, l := range Undecided(st) {
		rows = append(rows, Row{Node: l.Node, Phase: l.Phase})
	}
	plan := planned(st)
	slices.SortStableFunc(rows, func(a, b Row) int { return plan.place(a.Node) - plan.place(b.Node) })
	for _, d := range Gone(st) {
		rows = append(rows, Row{Node: d.Node, Phase: d.Phase, Decided: &d, Gone: true})
	}
	return rows
}

// UndecidedNode is a node that the newest run has not come to.
type UndecidedNode struct {
	Node  string `json:"node"`
	Phase string `json:"phase,omitempty"`
}

// Undecided are the nodes of the plan that are neither decided nor known to be
// locked, in its order; never nil.
func Undecided(st *store.Store) []UndecidedNode {
	out, known, plan := []UndecidedNode{}, map[string]bool{}, planned(st)
	if !plan.newest {
		return out
	}
	for _, d := range Standing(st) {
		known[d.Node] = true
	}
	for _, l := range Locked(st) {
		known[l.Node] = true
	}
	for _, n := range plan.nodes {
		if !known[n] {
			out = append(out, UndecidedNode{n, phaseOf(plan.nodes, n)})
		}
	}
	return out
}

// plan is what a state directory knows of the plan that it belongs to: its nodes in
// the order in which an apply goes through them.
type plan struct {
	nodes  []string
	places map[string]int
	// newest is set where these are the nodes of the newest run.
	newest bool
}

// planned is the plan as the newest run had it that says so.
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

// gone reports whether the plan has a node no more, as far as is known.
func (p plan) gone(node string) bool {
	return p.newest && len(p.nodes) > 0 && p.places[node] == 0
}

// place is where a node stands in the plan; behind all others where it does not.
func (p plan) place(node string) int {
	if at := p.places[node]; at > 0 {
		return at
	}
	return len(p.nodes) + 1
}
