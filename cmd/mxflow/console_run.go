package main

import (
	"fmt"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps"
)

// show prints what is wrong with a line; true where that is nothing.
func (c *console) show(diags lang.Diagnostics) bool {
	if len(diags) == 0 {
		return true
	}
	res := &lang.Findings{Files: c.loaded.Files, Diagnostics: diags}
	_ = res.WriteDiagnostics(c.stderr, c.width(), colours(c.stderr))
	return !diags.HasErrors()
}

// decide prints what a rule comes to, or the value that an address has.
func (c *console) decide(rule *plans.Rule, address bool) {
	if c.evidence == nil {
		if address {
			fmt.Fprintln(c.stdout, "This is known after measuring; --run latest takes it from the newest run.")
			return
		}
		fmt.Fprintln(c.stdout, "The rule is sound. It is decided after measuring; --run latest takes the newest run.")
		return
	}
	result := gates.Decide([]*plans.Rule{rule}, c.evidence, steps.GateSettings(c.loaded.Plan))[0]
	switch {
	case address && len(result.Comparisons) == 1:
		left, _ := tell.Sides(result.Comparisons[0].Left, result.Comparisons[0].Right)
		fmt.Fprintln(c.stdout, left)
	default:
		fmt.Fprintln(c.stdout, result.Verdict)
		for _, reason := range tell.Lines(result.Reasons) {
			fmt.Fprintf(c.stdout, "  %s\n", reason)
		}
	}
	for _, in := range result.Inputs {
		if in.Missing.IsZero() {
			fmt.Fprintf(c.stdout, "    %s\n", inputLine(in))
		}
	}
}

// recorded gathers what rules could read when a run ended: the newest decision
// about each node up to then, since a run repeats nothing that stands.
func (c *console) recorded(path string, p *plans.Plan, g *runtime.Graph) (*gates.Evidence, error) {
	st, err := c.reader([]string{path})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	chosen, err := st.Run(c.runID)
	if err != nil {
		return nil, err
	}
	until := map[string]bool{}
	for _, r := range st.Runs() {
		until[r.ID] = true
		if r.ID == chosen.ID {
			break
		}
	}
	lab, err := c.lab(p, g, st, "", "")
	if err != nil {
		return nil, err
	}
	return lab.Evidence(func(node string) *ledger.Decision {
		var last *ledger.Decision
		for _, d := range st.History(node) {
			if until[d.Run] {
				last = d.Decision
			}
		}
		return last
	}), nil
}
