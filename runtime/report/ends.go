package report

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/store"
)

// NotTogether stands in the place of a number that would divide launches of two sessions.
const NotTogether = "not measured together"

// Ends are the first and the last of the accepted stack.
type Ends struct {
	// Pair compares them in the newest session that launched both; nil if none did. Then
	// Command measures them together.
	Pair    *Pair  `json:"pair,omitempty"`
	Command string `json:"not_measured_together,omitempty"`
}

// EndsOf compares the baseline with the accepted stack; there is nothing to compare while
// that is empty.
func EndsOf(st *store.Store) (e Ends) {
	arms, stack := Arms(st), AcceptedStack(st)
	if len(stack.Features) == 0 {
		return e
	}
	for _, top := range stackArms(st, arms, stack) {
		if base := with(arms, top.Session, top.Block, stack.Baseline); base != nil && base != top {
			if pair := pairOfArms(st, base, top, TestsOf(st)); len(pair.Metrics) > 0 {
				return Ends{Pair: &pair}
			}
		}
	}
	return Ends{Command: together(st, stack)}
}

// Apart is what readers say of ends with a Command, before it.
const Apart = "The baseline and the accepted stack were " + NotTogether + ": no session launched both. This does:"

// mostHeadlines limits the metrics that show how far the stack is: more are in the tables.
const mostHeadlines = 6

// Table has the first metrics of both.
func (e Ends) Table() Table {
	return ComparisonTable(e.Pair.Metrics[:min(mostHeadlines, len(e.Pair.Metrics))], "Baseline", "Accepted stack")
}

// together is the command that measures the baseline and the stack in one session, once
// the feature accepted last has a criterion that reads the baseline.
func together(st *store.Store, stack Stack) string {
	last, metric, plan := stack.Features[len(stack.Features)-1], "METRIC", ""
	for _, g := range last.Gains {
		if of, is := strings.CutSuffix(g.What, ".gain"); is {
			metric = strings.TrimSuffix(of, ".root")
		}
	}
	if runs := st.Runs(); len(runs) > 0 && runs[len(runs)-1].PlanFile != "" {
		plan = " " + shell.Quote(runs[len(runs)-1].PlanFile)
	}
	return fmt.Sprintf("mxflow apply%s # after a criterion of %s on %s.root.gain", plan, last.Feature, metric)
}
