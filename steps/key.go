package steps

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

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
