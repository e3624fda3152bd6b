package gates

import "github.com/mxflow/mxflow/plans"

// Measured says what was seen of the one value that a rule reads, with what it
// rests on; empty where it cannot be told.
func Measured(rule *plans.Rule, ev *Evidence) string {
	if rule == nil || rule.Program == nil || len(rule.Program.Inputs) != 1 {
		return ""
	}
	in := rule.Program.Inputs[0]
	r := read(in, ev)
	if r.Value == nil {
		return ""
	}
	unit := in.Unit
	if in.Ratio() {
		unit = plans.RatioUnit
	}
	return format(*r.Value, unit, 0) + ", " + strength(in, r)
}
