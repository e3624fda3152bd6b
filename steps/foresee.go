package steps

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

func planned(v *variant, purpose string) runtime.PlannedLaunch {
	return runtime.PlannedLaunch{Variant: v.name, VariantKey: v.key, Engine: v.spec.Kind, Purpose: purpose}
}

// Foresee implements runtime.Foreseer.
func (q *qualify) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	vs, err := q.variants(s)
	if err != nil {
		return nil, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, v := range vs {
		if len(levelsOf(q.protocol(), v)) > 0 {
			launches = append(launches, planned(v, "qualification"))
		}
	}
	return &ledger.Decision{Variant: maps.Clone(vs[len(vs)-1].knobs)}, launches, nil
}

// Foresee implements runtime.Foreseer: the launches that the session lacks.
func (b *benchmark) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	vs, a, err := b.arms(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: maps.Clone(a.candidate.knobs)}
	if q := s.Outcome(runtime.QualifyID(b.feature.Name)); q == nil || q.Verdict != verdict.Pass {
		return out, nil, nil
	}
	c, _, err := b.config()
	if err != nil {
		return nil, nil, err
	}
	slots := interleave(vs, c.Launches)
	id, err := b.lab.sessionID(s, len(slots))
	if err != nil {
		return nil, nil, err
	}
	have, err := b.lab.session(id)
	if err != nil {
		return nil, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, sl := range slots {
		if existing(have, sl) == nil {
			launches = append(launches, planned(sl.variant, "benchmark"))
		}
	}
	out.Session = id
	return out, launches, nil
}

// Foresee implements runtime.Foreseer.
func (d *decideFeature) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	a, err := d.lab.armsOf(s, d.feature)
	if err != nil {
		return nil, nil, err
	}
	return &ledger.Decision{Variant: maps.Clone(a.candidate.knobs)}, nil, nil
}
