package report

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Moved returns what a decided feature demonstrably changed, by its launches.
type Moved func(d *ledger.Decision) []gates.Movement

// MovedTitle is the title of the table of changed metrics.
const MovedTitle = "Changed metrics, over all workloads:"

// Movements is the table of what demonstrably changed, whether a rule reads it or not.
func Movements(all []gates.Movement) Table {
	t := Table{Head: []string{"metric", "was", "candidate", "change", ""}}
	for _, m := range all {
		change, word := "–", "worse"
		if m.Change != nil {
			change = tell.Interval(*m.Change, m.Low, m.High, "ratio")
		}
		if m.Better {
			word = "better"
		}
		t.Rows = append(t.Rows, []string{m.Metric, tell.Number(m.Parent, m.Unit), tell.Number(m.Own, m.Unit), change, word})
	}
	return t
}
