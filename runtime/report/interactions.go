package report

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// Interaction is how a stack compares with the product of its parts, and the feature it
// was measured with: one pair is compared in as many sessions as features build on it,
// with different results.
type Interaction struct {
	Feature string `json:"feature"`
	Session string `json:"session,omitempty"`
	ledger.Interference
}

// Interactions are those of the decisions that stand, in the plan's order; never
// nil.
func Interactions(st *store.Store) []Interaction {
	all := []Interaction{}
	for _, d := range Standing(st) {
		for _, i := range d.Interference {
			all = append(all, Interaction{d.Feature, d.Session, i})
		}
	}
	return all
}

// Says is "Measured beside moe, session s-2: kv and head together are …".
func (i Interaction) Says() string {
	session := ""
	if i.Session != "" {
		session = ", session " + i.Session
	}
	return fmt.Sprintf("Measured with %s%s: %s", i.Feature, session, tell.Line(i.Interference.Reason()))
}

// interactions writes how stacks compare with the product of their parts.
func (p *page) interactions() {
	all := Interactions(p.st)
	if len(all) == 0 {
		return
	}
	p.para("## Interactions")
	t := Table{Head: []string{"Parts", "Measured with", "Metric", "Stack against the baseline", "Product of the parts", "Stack against product"}}
	for _, i := range all {
		t.Rows = append(t.Rows, i.row())
	}
	p.table(t)
	for _, i := range all {
		p.line("- %s", i.Says())
	}
	p.line("")
}

func (i Interaction) row() []string {
	return []string{strings.Join(i.Parts, " + "), i.Feature, i.Metric, tell.Percent(i.Stack, 1), tell.Percent(i.Product, 1), tell.Interval(i.Ratio, i.Low, i.High, "ratio")}
}
