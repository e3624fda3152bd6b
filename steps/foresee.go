package steps

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/decide"
	"github.com/mxflow/mxflow/steps/variant"
)

func planned(v *variant.Variant, purpose string) runtime.PlannedLaunch {
	return runtime.PlannedLaunch{Variant: v.Name, VariantKey: v.Key, Engine: v.Spec.Kind, Purpose: purpose, Sure: true}
}

// Foresee implements runtime.Foreseer.
func (q *qualify) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	vs, err := q.variants(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: vs[len(vs)-1].Knobs}
	if why, err := q.spared(s, vs[len(vs)-1]); !why.IsZero() || err != nil {
		out.Verdict, out.Reasons = verdict.Invalid, []verdict.Reason{why}
		return out, nil, err
	}
	var launches []runtime.PlannedLaunch
	for _, v := range vs {
		if len(levelsOf(q.protocol(), v)) > 0 {
			launches = append(launches, planned(v, ledger.ForQualification))
		}
	}
	return out, launches, nil
}

// Foresee implements runtime.Foreseer: the launches that the session lacks, at
// most. Those of a parent that siblings share are the first sibling's.
func (b *benchmark) Foresee(s *runtime.Scope) (*ledger.Decision, []runtime.PlannedLaunch, error) {
	_, a, err := b.arms(s)
	if err != nil {
		return nil, nil, err
	}
	out := &ledger.Decision{Variant: a.candidate.Knobs}
	switch q := s.Outcome(runtime.QualifyID(b.feature.Name)); {
	case q == nil:
		return out, nil, nil
	case q.Verdict != verdict.Pass:
		out.Verdict, _ = decide.Broken(q)
		return out, nil, nil
	}
	view := b.lab.view(s)
	own, _, err := b.lab.sessionOf(s, b.feature)
	if err != nil {
		return nil, nil, err
	}
	work := b.lab.WorkKey(b.workloads())
	if out.Session, err = b.lab.continues(s, own, work); err != nil {
		return nil, nil, err
	}
	have, err := b.lab.session(out.Session)
	if err != nil {
		return nil, nil, err
	}
	own.CloseRetracted(view, have)
	if len(have) > 0 {
		if err := own.Look(view, have); err != nil {
			return nil, nil, err
		}
	}
	var launches []runtime.PlannedLaunch
	for _, launch := range own.Took(have) {
		out.Launches = append(out.Launches, launch.ID)
	}
	if own.Open {
		out.Launches = nil // and more, which are not known
		next, before := own.NextLook(view, out.Session, work), b.launchedBefore(s)
		for round := own.Rounds + 1; round <= own.Most; round++ {
			for _, v := range own.variants {
				if before && v.Key != own.Arms.Candidate.Key {
					continue
				}
				l := planned(v, ledger.ForBenchmark)
				l.Sure = round <= next
				launches = append(launches, l)
			}
		}
	}
	out.Reasons = own.Resolvable(view, out.Session, work)
	return out, launches, nil
}

// launchedBefore reports whether a sibling that comes first launches the parent
// for this one too.
func (b *benchmark) launchedBefore(s *runtime.Scope) bool {
	for _, other := range b.lab.Graph.Siblings(b.feature) {
		if other.Name == b.feature.Name {
			return false
		}
		if d := s.Outcome(runtime.BenchmarkID(other.Name)); d != nil && d.Verdict == verdict.Pass && d.Because.IsZero() && d.Launches == nil {
			return true // foreseen in this preview, and not recorded
		}
	}
	return false
}
