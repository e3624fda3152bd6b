package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Resolve finds the variant's knob values: those that were measured, else the plan's. st
// is nil if nothing was applied.
func Resolve(r *Recipe, p *plans.Plan, st *store.Store) error {
	var stack report.Stack
	if st != nil {
		stack = report.AcceptedStack(st)
		if runs := st.Runs(); len(runs) > 0 {
			if v, err := st.Run(runs[len(runs)-1].ID); err == nil && v.Start != nil && v.Start.PlanDigest != p.Digest() {
				r.Notes = append(r.Notes, "The plan, or a variable of it, has changed since it was applied.")
			}
		}
	}
	r.Knobs = p.DefaultKnobs()
	candidates := p.Candidates()
	i := slices.IndexFunc(candidates, func(f *plans.Feature) bool { return f.Name == r.Variant })
	switch {
	case r.Variant == "baseline":
	case r.Variant == "accepted":
		if len(stack.Features) == 0 {
			r.Notes = append(r.Notes, "Nothing was accepted: this is the baseline.")
		}
		for _, f := range stack.Features {
			r.Stack = append(r.Stack, f.Feature)
			maps.Copy(r.Knobs, f.Set)
		}
	case i < 0:
		names := []string{"accepted", "baseline"}
		return fmt.Errorf("plan %s has no feature %q.%s", p.Name, r.Variant,
			lang.Suggest(r.Variant, append(names, plans.Names(candidates, func(f *plans.Feature) string { return f.Name })...)))
	default:
		f := candidates[i]
		r.Engine = cmp.Or(f.Engine, r.Engine)
		note, knobs := "Not decided yet: this is the variant as the plan has it now.", map[string]string(nil)
		if st != nil {
			var v verdict.Verdict
			if v, knobs = measuredKnobs(st, f); v != "" {
				note = fmt.Sprintf("Decided: %s.", v)
			}
		}
		switch r.Notes = append(r.Notes, note); {
		case len(knobs) > 0:
			maps.Copy(r.Knobs, knobs)
		case len(f.Alternatives) > 0:
			return fmt.Errorf("feature %s chooses among %s but has not chosen yet: name one of them", f.Name,
				strings.Join(plans.Names(f.Alternatives, func(alt *plans.Feature) string { return alt.Name }), ", "))
		default:
			r.Knobs = p.PlannedKnobs(f, stack.Knobs)
		}
	}
	for _, knob := range slices.Sorted(maps.Keys(r.Knobs)) {
		if p.Knob(knob) == nil {
			return fmt.Errorf("%s was measured with knob %s, but the plan no longer has that knob: use the plan that was "+
				"applied, or apply this one", r.Variant, knob)
		}
	}
	return nil
}

// measuredKnobs is the verdict on a candidate and the knob values that it was measured with; none
// of both where nothing was decided.
func measuredKnobs(st *store.Store, f *plans.Feature) (verdict.Verdict, map[string]string) {
	if f.Of == "" || f.Engine != "" {
		if d, _, ok := st.Latest(runtime.FeatureID(f.Name)); ok && len(d.Variant) > 0 {
			return d.Verdict, d.Variant
		}
		return "", nil
	}
	// The decision of a feature that chooses has those of its values, unless it was withdrawn.
	for _, d := range slices.Backward(st.History(runtime.FeatureID(f.Of))) {
		for _, alt := range d.Alternatives {
			if alt.Name != f.Name {
				continue
			}
			for _, ev := range d.Evidence {
				if ev.Feature == f.Name && len(ev.Candidate.Launches) > 0 {
					l, _ := st.LaunchByID(ev.Candidate.Launches[0])
					return alt.Verdict, l.Knobs
				}
			}
			return alt.Verdict, nil
		}
	}
	return "", nil
}
