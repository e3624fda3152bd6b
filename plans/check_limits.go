package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// The settings by which every kind of engine that has such limits calls them.
const (
	mostAtOnce = "max_num_seqs"
	mostTokens = "max_model_len"
)

// engineLimits refuses workloads that the engine under test cannot be sent:
// requests longer than it takes, and more at once than it works on.
func (c *planCheck) engineLimits() {
	if c.plan.Baseline == nil {
		return
	}
	e := c.plan.Engine(c.plan.Baseline.Engine)
	if e == nil || e.IsCommand() {
		return
	}
	seen := map[string]bool{}
	protocols := []string{c.plan.Baseline.Protocol}
	for _, f := range c.features() {
		protocols = append(protocols, f.Protocol)
	}
	for _, protocol := range protocols {
		for _, name := range c.ns.sent[protocol] {
			if w := c.ns.workloads[name]; w != nil && !seen[name] {
				seen[name] = true
				c.fitsEngine(e, w)
			}
		}
	}
}

func (c *planCheck) fitsEngine(e *Engine, w *Workload) {
	name := fmt.Sprintf("engine.%s.%s", e.Kind, e.Name)
	for _, cell := range c.ns.cells[w.Name] {
		if least := float64(cell.Concurrency) * w.MinReached; !w.open() {
			if limit, known := c.mostOf(e, mostAtOnce); known && least > limit {
				c.refuse(w.Range, "More at once than the engine takes", "%s keeps %d requests in flight, and %s works on %g at once (%s), so that this could only be invalid. Lower concurrency, raise %s, or set min_reached = 0 to measure requests that wait.",
					cell.Address, cell.Concurrency, name, limit, mostAtOnce, mostAtOnce)
				return
			}
		}
		if limit, known := c.mostOf(e, mostTokens); known && float64(w.longest(cell)) > limit {
			c.refuse(w.Range, "Longer than the engine takes", "Requests of %s have up to %d tokens, answers and what comes before the prompt included, and %s takes %g (%s). Make them shorter, or raise %s.",
				cell.Address, w.longest(cell), name, limit, mostTokens, mostTokens)
			return
		}
	}
}

// longest is the most tokens of one request with its answer; 0 where a file
// decides.
func (w *Workload) longest(cell Cell) int {
	if w.Data != nil {
		return 0
	}
	prompt, output := cell.Prompt, cell.Output
	if w.PromptLengths != nil {
		prompt = w.PromptLengths.Max
	}
	if w.OutputLengths != nil {
		output = w.OutputLengths.Max
	}
	return cell.Depth + w.SystemTokens + max(1, w.Turns)*(prompt+output)
}

// mostOf is the greatest value that a setting has in any variant; false where
// one leaves it to the engine.
func (c *planCheck) mostOf(e *Engine, setting string) (most float64, known bool) {
	most, known = e.Settings[setting].(float64)
	set := false // by a knob, so that each variant has one or the other
	for _, k := range c.plan.Knobs {
		all := true
		for _, v := range k.Values {
			own, here := v.Settings[setting]
			n, number := own.(float64)
			switch {
			case !here:
				all = false
			case !number:
				return 0, false
			default:
				most = max(most, n)
			}
		}
		set = set || all
	}
	return most, known || set
}

// refuse reports an error of the plan.
func (c *planCheck) refuse(at Range, summary, format string, args ...any) {
	c.diags = append(c.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: at.hcl().Ptr(),
	})
}
