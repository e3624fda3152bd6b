package steps

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// decidingVersion is part of every decision key. It changes when the way of
// deciding does, so that verdicts of the old way are decided again.
const decidingVersion = "4"

// qualifyKey: the variants, the levels with their settings, and the machine.
func (l *Lab) qualifyKey(protocol *plans.Protocol, vs ...*variant.Variant) string {
	var parts []any
	for _, v := range vs {
		parts = append(parts, v.Key, variant.EvidenceFor(l.Plan, v.Knobs))
	}
	parts = append(parts, levelParts(protocol)...)
	return l.Sealed("qualify", variant.MeasuringVersion, l.MachineKey, parts)
}

// levelParts are the levels that a variant is qualified by, with their settings.
func levelParts(protocol *plans.Protocol) (parts []any) {
	for _, level := range qualificationLevels(protocol) {
		parts = append(parts, level.Kind, level.Attrs)
	}
	return parts
}

// judged is how answers are looked at, for the decision's key.
func judged(workloads []*plans.Workload) (parts []any) {
	for _, w := range workloads {
		parts = append(parts, w.Name, w.Coherence)
	}
	return parts
}

// ruleKey is what a rule decides by besides its evidence: its text, and the
// numbers of targets, which stand elsewhere in the plan.
func ruleKey(r *plans.Rule) []any {
	parts := []any{r.Name, r.Expr}
	if r.Program == nil {
		return parts
	}
	for _, in := range r.Program.Inputs {
		if in.Kind == plans.InputTarget {
			parts = append(parts, in.Path, in.Number)
		}
	}
	return parts
}
