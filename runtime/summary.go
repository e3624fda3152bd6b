package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Row is one line of the table that a run ends with.
type Row struct {
	Node     *Node
	Decision *ledger.Decision
	Reused   bool
	// Locked is the root cause of a node that was not run.
	Locked verdict.Reason
	// Waived is set where what comes after the gate went on although it did not
	// pass; Overruled is what a waiver means for the verdict, also one that does
	// not cover it.
	Waived    bool
	Overruled verdict.Reason
}

// Summary is how a run came out.
type Summary struct {
	// Verdict is the worst of all gates that were evaluated, and of what kept
	// gates from being evaluated. Locked work never improves it.
	Verdict verdict.Verdict
	Rows    []Row
}

// Summarise joins a result. A baseline that is not qualified keeps every gate
// from being evaluated, so it counts as one.
func Summarise(g *Graph, r *Result) Summary {
	var s Summary
	var vs []verdict.Verdict
	for _, n := range g.Nodes {
		row := Row{Node: n, Decision: r.Outcomes[n.ID], Reused: r.Reused[n.ID], Locked: r.Locked[n.ID], Waived: r.Waived[n.ID] != nil, Overruled: r.Overruled[n.ID]}
		s.Rows = append(s.Rows, row)
		if row.Decision == nil {
			continue
		}
		gate := n.Kind == KindGate || n.Kind == KindPhase
		if gate || n.ID == BaselineID && !row.Decision.Verdict.Unlocks() {
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
