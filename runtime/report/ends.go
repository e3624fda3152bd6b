package report

import (
	"fmt"
	"maps"
	"slices"
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
		i := slices.IndexFunc(arms, func(a *Arm) bool {
			l := a.Launches[0]
			beside := a.Session == top.Session && (top.Block == "" || a.Block == top.Block)
			return beside && l.Knobs != nil && maps.Equal(l.Knobs, stack.Baseline)
		})
		if i >= 0 && arms[i] != top {
			if pair := pairOfArms(st, arms[i], top, TestsOf(st)); len(pair.Metrics) > 0 {
				return Ends{Pair: &pair}
			}
		}
	}
	// The command measures both in one session, once the feature accepted last has a criterion
	// that reads the baseline.
	last, metric, plan := stack.Features[len(stack.Features)-1], "METRIC", ""
	for _, g := range last.Gains {
		if of, is := strings.CutSuffix(g.What, ".gain"); is {
			metric = strings.TrimSuffix(of, ".root")
		}
	}
	if runs := st.Runs(); len(runs) > 0 && runs[len(runs)-1].PlanFile != "" {
		plan = " " + shell.Quote(runs[len(runs)-1].PlanFile)
	}
	return Ends{Command: fmt.Sprintf("mxflow apply%s # after a criterion of %s on %s.root.gain", plan, last.Feature, metric)}
}

// Apart is what readers say of ends with a Command, before it.
const Apart = "The baseline and the accepted stack were " + NotTogether + ": no session launched both. This does:"

// mostHeadlines limits the metrics that show how far the stack is: more are in the tables.
const mostHeadlines = 6

// Table has the first metrics of both.
func (e Ends) Table() Table {
	return ComparisonTable(e.Pair.Metrics[:min(mostHeadlines, len(e.Pair.Metrics))], "Baseline", "Accepted stack")
}
