package runtime

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Row is one line of the table at the end of a run.
type Row struct {
	Node     *Node
	Decision *ledger.Decision
	Reused   bool
	// Locked is the root cause of a node that was not run.
	Locked verdict.Reason
	// Waived is set if later phases proceeded after the gate although it did not pass;
	// Overruled is the effect of a waiver on the verdict, including one that does not
	// cover it.
	Waived    bool
	Overruled verdict.Reason
}

// Summary is the outcome of a run.
type Summary struct {
	// Verdict is the worst of all evaluated gates, and of what kept gates from being
	// evaluated. Locked work never improves it.
	Verdict verdict.Verdict
	Rows    []Row
}

// isGate reports whether a node is the end of a phase.
func isGate(n *Node) bool { return n.Kind == KindGate || n.Kind == KindPhase }

// Summarise joins a result. A baseline that is not qualified keeps every gate from being
// evaluated, so it counts as one. If a gate was left out, everything that a person named
// counts in its place.
func Summarise(g *Graph, r *Result) Summary {
	var s Summary
	var vs []verdict.Verdict
	leftOut := slices.ContainsFunc(g.Nodes, func(n *Node) bool { return isGate(n) && r.Locked[n.ID].Kind == code.NotTargeted.Kind })
	if leftOut {
		// Nothing shows that these gates pass.
		vs = append(vs, verdict.Inconclusive)
	}
	for _, n := range g.Nodes {
		row := Row{Node: n, Decision: r.Outcomes[n.ID], Reused: r.Reused[n.ID], Locked: r.Locked[n.ID], Waived: r.Waived[n.ID] != nil, Overruled: r.Overruled[n.ID]}
		s.Rows = append(s.Rows, row)
		if row.Decision == nil {
			continue
		}
		if isGate(n) || n.ID == BaselineID && !row.Decision.Verdict.Unlocks() || leftOut && r.Target(n) {
			v := row.Decision.Verdict
			if row.Waived {
				v = verdict.Waived
			}
			vs = append(vs, v)
		}
	}
	if d := r.Outcomes[BaselineID]; len(vs) == 0 && d != nil {
		vs = append(vs, d.Verdict)
	}
	s.Verdict = verdict.Join(vs...)
	return s
}
