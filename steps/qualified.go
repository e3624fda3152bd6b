package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
)

// qualified reports whether another node has already qualified a variant. Other
// engines are confirmed on only where features pass, so which of those nodes there
// are would depend on what else is decided: there, each qualifies for itself.
func (q *qualify) qualified(s *runtime.Scope, v *variant.Variant) bool {
	if q.feature.Engine != "" {
		return false
	}
	passed := func(id string) bool {
		d := s.Outcome(id)
		return d != nil && d.Verdict == verdict.Pass && maps.Equal(d.Variant, v.Knobs)
	}
	if s.Foreseen != nil {
		if _, known := s.Foreseen.Load(v); known {
			return true
		}
	}
	if passed(runtime.BaselineID) {
		if s.Foreseen != nil {
			s.Foreseen.Store(v, true)
		}
		return true
	}
	for _, ph := range q.lab.Plan.Phases {
		for _, f := range ph.Features {
			for _, c := range runtime.Candidates(f) {
				if c.Name != q.feature.Name && passed(runtime.QualifyID(c.Name)) {
					return true
				}
			}
		}
	}
	return false
}
