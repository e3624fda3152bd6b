package steps

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// What follows from an outcome that does not count, before anything is launched: no
// rule can read it, whatever else is measured.

// Foresee implements runtime.Foreseer.
func (d *decideFeature) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	a, err := d.lab.armsOf(s, d.feature)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: a.candidate.Knobs}
	for _, id := range []string{runtime.QualifyID(d.feature.Name), runtime.BenchmarkID(d.feature.Name)} {
		if uncounted(s, id) {
			out.Verdict = verdict.Invalid
		}
	}
	return out, nil, nil
}

// Foresee implements runtime.Foreseer: as long as nothing is chosen, the first
// alternative that may count is assumed.
func (d *decideChoice) Foresee(s *runtime.Scope) (out *ledger.Decision, _ []runtime.PlannedLaunch, err error) {
	for _, f := range d.feature.Alternatives {
		own, _, err := (&decideFeature{lab: d.lab, feature: f}).Foresee(s)
		if err != nil {
			return nil, nil, err
		}
		if out == nil || out.Verdict != "" {
			out = own
		}
	}
	return out, nil, nil
}

// Foresee implements runtime.Foreseer.
func (j *joinConfirmed) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	out := &ledger.Decision{}
	for _, id := range j.ids() {
		if uncounted(s, id) {
			out.Verdict = verdict.Invalid
		}
	}
	if first := s.Outcome(runtime.FirstID(j.feature.Name)); first != nil {
		out.Variant = first.Variant
	}
	return out, nil, nil
}

// Foresee implements runtime.Foreseer.
func (g *decideGate) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	out := &ledger.Decision{}
	for _, r := range g.phase.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if in.Feature != "" && unreadable(s, in) {
				out.Verdict = verdict.Invalid
			}
		}
	}
	return out, nil, nil
}

// unreadable reports whether what a gate's rule reads of a feature will not be there.
func unreadable(s *runtime.Scope, in *plans.Input) bool {
	if locked(s, runtime.FeatureID(in.Feature)) {
		return true
	}
	switch in.Kind {
	case plans.InputFeature:
		return uncounted(s, runtime.FeatureID(in.Feature))
	case plans.InputMetric:
		return uncounted(s, runtime.QualifyID(in.Feature)) || uncounted(s, runtime.BenchmarkID(in.Feature))
	case plans.InputLevel:
		q := s.Outcome(runtime.QualifyID(in.Feature))
		return q != nil && q.Verdict == verdict.Invalid && len(q.Levels) == 0
	}
	return false
}

// Foresee implements runtime.Foreseer.
func (j *joinPhase) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	out := &ledger.Decision{}
	for _, f := range j.phase.Features {
		if id := runtime.FeatureID(f.Name); uncounted(s, id) || locked(s, id) {
			out.Verdict = verdict.Invalid
		}
	}
	return out, nil, nil
}

// uncounted reports whether a node has an outcome that does not count.
func uncounted(s *runtime.Scope, id string) bool {
	d := s.Outcome(id)
	return d != nil && d.Verdict == verdict.Invalid
}

// locked reports whether a node will have no outcome.
func locked(s *runtime.Scope, id string) bool {
	return s.Outcome(id) == nil && !s.LockedBy(id).IsZero()
}
