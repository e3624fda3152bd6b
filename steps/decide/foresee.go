package decide

import (
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Foresee is what is certain about a node's decision before anything is launched. If
// nothing that it rests on is assumed, that is the decision itself. Otherwise, an outcome
// that does not count allows none that counts, whatever else is measured. It has a
// verdict only in these cases.
func Foresee(v *View, n *runtime.Node, assumed func(id string) bool) (*ledger.Decision, error) {
	if !assumes(v, n, assumed) {
		if d, err := Node(v, n); err == nil {
			return d, nil
		}
	}
	f, ph := n.FeatureBlock, n.PhaseBlock
	out := &ledger.Decision{}
	invalid := false
	switch n.Kind {
	case runtime.KindFeature, runtime.KindCriteria:
		if n.Kind == runtime.KindCriteria || len(f.Confirm) == 0 {
			return foreseen(v, f)
		}
		for _, id := range confirmations(f) {
			invalid = invalid || uncounted(v, id)
		}
		if first := v.Outcome(runtime.FirstID(f.Name)); first != nil {
			out.Variant = first.Variant
		}
	case runtime.KindGate:
		for _, in := range inputs(ph.Gate.Rules) {
			invalid = invalid || in.Feature != "" && unreadable(v, in)
		}
	case runtime.KindPhase:
		for _, f := range ph.Features {
			id := runtime.FeatureID(f.Name)
			invalid = invalid || uncounted(v, id) || locked(v, id)
		}
	}
	if invalid {
		out.Verdict = verdict.Invalid
	}
	return out, nil
}

// assumes reports whether a decision would rest on an outcome that is only assumed.
func assumes(v *View, n *runtime.Node, assumed func(id string) bool) bool {
	if slices.ContainsFunc(n.Needs, func(need runtime.Need) bool { return assumed(need.On) }) {
		return true
	}
	return n.Kind == runtime.KindGate && (slices.ContainsFunc(GateFeatures(v.Plan, n.PhaseBlock), func(f *plans.Feature) bool {
		return assumed(runtime.FeatureID(f.Name))
	}) || slices.ContainsFunc(RowsRead(n.PhaseBlock), func(row *plans.Row) bool { return assumed(stepOf(row)) }))
}

// foreseen is Foresee for a feature on one engine. While nothing is chosen, it assumes
// the first alternative that may count.
func foreseen(v *View, f *plans.Feature) (out *ledger.Decision, err error) {
	for _, c := range runtime.Candidates(f) {
		a, err := v.Arms(c)
		if err != nil {
			return nil, err
		}
		if out != nil && out.Verdict == "" {
			continue
		}
		out = &ledger.Decision{Variant: a.Candidate.Knobs}
		if uncounted(v, runtime.QualifyID(c.Name)) || uncounted(v, runtime.BenchmarkID(c.Name)) {
			out.Verdict = verdict.Invalid
		}
	}
	return out, nil
}

// unreadable reports whether a gate's rule will not find what it reads of a feature.
func unreadable(v *View, in *plans.Input) bool {
	if in.Row != nil {
		return locked(v, stepOf(in.Row))
	}
	if locked(v, runtime.FeatureID(in.Feature)) {
		return true
	}
	switch in.Kind {
	case plans.InputFeature:
		return uncounted(v, runtime.FeatureID(in.Feature))
	case plans.InputMetric:
		return uncounted(v, runtime.QualifyID(in.Feature)) || uncounted(v, runtime.BenchmarkID(in.Feature))
	case plans.InputLevel, plans.InputFound:
		q := v.Outcome(runtime.QualifyID(in.Feature))
		return q != nil && q.Verdict == verdict.Invalid && len(q.Levels) == 0
	}
	return false
}

// uncounted reports whether a node has an outcome that does not count.
func uncounted(v *View, id string) bool {
	d := v.Outcome(id)
	return d != nil && d.Verdict == verdict.Invalid
}

// locked reports whether a node will have no outcome.
func locked(v *View, id string) bool {
	return v.Outcome(id) == nil && !v.LockedBy(id).IsZero()
}
