package report

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Moved returns what a decided feature demonstrably changed, by its launches.
type Moved func(d *ledger.Decision) []gates.Movement

// Decided puts the estimate and the bounds of a decision on the changes by which one of its
// rules was decided.
func Decided(d *ledger.Decision, all []gates.Movement) []gates.Movement {
	e := EvidenceOf(d)
	if len(e.Candidate.Launches) == 0 {
		return all
	}
	decided := tests(d)[e.Candidate.Launches[0]]
	for i, m := range all {
		for _, t := range decided {
			if t.Against == e.Parent.Name && (t.Metric == m.Metric && t.Stat == "median" || t.Metric+"."+t.Stat == m.Metric) {
				all[i].Change, all[i].Low, all[i].High = t.Change()
				all[i].Decided = true
				break
			}
		}
	}
	return all
}

// MovedTitle is the title of the table of changed metrics.
const MovedTitle = "Changed metrics, over all workloads:"

// Movements is the table of what demonstrably changed, whether a rule reads it or not.
func Movements(all []gates.Movement) Table {
	t := Table{Head: []string{"metric", "was", "candidate", "change", ""}}
	for _, m := range all {
		change, word := "–", "worse"
		if m.Change != nil {
			shown := verdict.CI
			if m.Decided {
				shown = verdict.Interval
			}
			change = shown(*m.Change, m.Low, m.High, "ratio")
		}
		if m.Better {
			word = "better"
		}
		t.Rows = append(t.Rows, []string{m.Metric, verdict.Number(m.Parent, m.Unit), verdict.Number(m.Own, m.Unit), change, word})
	}
	return t
}
