package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// Resolve finds the variant's knob values.
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
	switch r.Variant {
	case "baseline":
		return nil
	case "accepted":
		return resolveStack(r, p, stack)
	}
	var f *plans.Feature
	names := []string{"accepted", "baseline"}
	for _, c := range p.Candidates() {
		names = append(names, c.Name)
		if c.Name == r.Variant {
			f = c
		}
	}
	if f == nil {
		return fmt.Errorf("plan %s has no feature %q.%s", p.Name, r.Variant, lang.Suggest(r.Variant, names))
	}
	if f.Engine != "" {
		r.Engine = f.Engine
	}
	return resolveFeature(r, p, f, st, stack)
}

// resolveStack overlays the accepted features on the plan's baseline.
func resolveStack(r *Recipe, p *plans.Plan, stack report.Stack) error {
	if len(stack.Features) == 0 {
		r.Notes = append(r.Notes, "Nothing was accepted: this is the baseline.")
	}
	for _, f := range stack.Features {
		r.Stack = append(r.Stack, f.Feature)
		for _, knob := range slices.Sorted(maps.Keys(f.Set)) {
			if p.Knob(knob) == nil {
				return fmt.Errorf("feature %s was accepted with knob %s = %s, but the plan no longer has that knob: use the plan that was applied, or apply this one", f.Feature, knob, f.Set[knob])
			}
		}
		maps.Copy(r.Knobs, f.Set)
	}
	return nil
}

// resolveFeature uses what was measured; before that, what the plan says.
func resolveFeature(r *Recipe, p *plans.Plan, f *plans.Feature, st *store.Store, stack report.Stack) error {
	says := "Not decided yet: this is the variant as the plan has it now."
	if st != nil {
		decided, knobs := decidedAs(st, f)
		if decided != "" {
			says = decided
		}
		if len(knobs) > 0 {
			maps.Copy(r.Knobs, knobs)
			for knob := range r.Knobs {
				if p.Knob(knob) == nil {
					return fmt.Errorf("feature %s was measured with knob %s, but the plan no longer has that knob: use the plan that was applied, or apply this one", f.Name, knob)
				}
			}
			r.Notes = append(r.Notes, says)
			return nil
		}
	}
	if len(f.Alternatives) > 0 {
		return fmt.Errorf("feature %s chooses among %s but has not chosen yet: name one of them", f.Name, strings.Join(plans.Names(f.Alternatives, func(alt *plans.Feature) string { return alt.Name }), ", "))
	}
	r.Knobs = p.PlannedKnobs(f, stack.Knobs)
	r.Notes = append(r.Notes, says)
	return nil
}

// decidedAs is the decision about a candidate, and the knob values that it was measured
// with; empty if nothing was decided.
func decidedAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	if f.Of != "" && f.Engine == "" {
		return alternativeAs(st, f)
	}
	d, _, ok := st.Latest(runtime.FeatureID(f.Name))
	switch {
	case !ok || len(d.Variant) == 0:
		return "", nil
	case f.Engine != "":
		return fmt.Sprintf("Decided: %s on engine.%s; %s is %s.", d.Verdict, f.Engine, f.Of, acceptedWord(st, f.Of)), d.Variant
	}
	return fmt.Sprintf("Decided: %s, %s.", d.Verdict, acceptedWord(st, f.Name)), d.Variant
}

// alternativeAs is the same for a candidate of a feature that chooses: the feature's
// decision has its outcome.
func alternativeAs(st *store.Store, f *plans.Feature) (says string, knobs map[string]string) {
	for _, d := range slices.Backward(st.History(runtime.FeatureID(f.Of))) {
		i := slices.IndexFunc(d.Alternatives, func(alt ledger.Alternative) bool { return alt.Name == f.Name })
		if i < 0 {
			continue // a withdrawn outcome does not name them
		}
		for _, ev := range d.Evidence {
			if ev.Feature == f.Name && len(ev.Candidate.Launches) > 0 {
				if l, ok := st.LaunchByID(ev.Candidate.Launches[0]); ok {
					knobs = l.Knobs
				}
			}
		}
		if d.Alternatives[i].Chosen {
			return fmt.Sprintf("Decided: %s, chosen; %s is %s.", d.Alternatives[i].Verdict, f.Of, acceptedWord(st, f.Of)), knobs
		}
		return fmt.Sprintf("Decided: %s, not chosen.", d.Alternatives[i].Verdict), knobs
	}
	return "", nil
}

// acceptedWord is whether a feature is in the stack.
func acceptedWord(st *store.Store, feature string) string {
	if d, _, ok := st.Latest(runtime.FeatureID(feature)); ok && d.Accepted {
		return "accepted"
	}
	return "not accepted"
}
