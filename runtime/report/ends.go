package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/runtime/ledger"
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
			if pair := pairOfArms(st, base, top, TestsOf(st)); len(pair.Deltas) > 0 {
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
	return DeltaTable(e.Pair.Deltas[:min(mostHeadlines, len(e.Pair.Deltas))], "Baseline", "Accepted stack")
}

// together is the command that measures the baseline and the stack together: it sends what
// the plan sent first, and declares what the newest launches of the two report differently.
func together(st *store.Store, stack Stack) string {
	var base, top *ledger.Launch
	var sent measure.CellRun
	for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
		switch {
		case l.Knobs == nil:
		case maps.Equal(l.Knobs, stack.Baseline):
			base = l
		case maps.Equal(l.Knobs, stack.Knobs):
			top = l
		}
		if len(l.Cells) > 0 && l.Purpose == ledger.ForBenchmark {
			sent = l.Cells[0]
		}
	}
	plan := ""
	if runs := st.Runs(); len(runs) > 0 && runs[len(runs)-1].PlanFile != "" {
		plan = " " + shell.Quote(runs[len(runs)-1].PlanFile)
	}
	ab := "mxflow ab --a 'MXFLOW_PORT={port} sh baseline.sh' --b 'MXFLOW_PORT={port} sh accepted.sh'"
	if l := cmp.Or(base, top); l != nil && l.Engine["kind"] == "command" {
		// It brings its own work, so nothing but its plan knows what its numbers are.
		last := stack.Features[len(stack.Features)-1]
		metric := "METRIC"
		for _, g := range last.Gains {
			if of, is := strings.CutSuffix(g.What, ".gain"); is {
				metric = strings.TrimSuffix(of, ".root")
			}
		}
		return fmt.Sprintf("mxflow apply%s # after a criterion of %s on %s.root.gain", plan, last.Feature, metric)
	} else if l != nil && l.Engine["kind"] != "" {
		ab += " --kind " + l.Engine["kind"]
	}
	for _, n := range []struct {
		flag string
		n    int
	}{{"pp", sent.Prompt}, {"tg", sent.Output}, {"depth", sent.Depth}, {"concurrency", sent.Concurrency}} {
		if n.n > 0 && (n.flag != "concurrency" || n.n > 1) {
			ab += fmt.Sprintf(" --%s %d", n.flag, n.n)
		}
	}
	if base != nil && top != nil {
		var changes []string
		for _, name := range slices.Sorted(maps.Keys(top.Observed)) {
			if _, is := top.Observed[name].Value.(string); is && ledger.SaidBy([]*ledger.Launch{base}, name) != ledger.SaidBy([]*ledger.Launch{top}, name) {
				changes = append(changes, name)
			}
		}
		if len(changes) > 0 {
			ab += " --changes " + strings.Join(changes, ",")
		}
	}
	return "mxflow env baseline" + plan + " > baseline.sh && mxflow env accepted" + plan + " > accepted.sh && " + ab
}
