package script

import (
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
		if f.Engine != "" {
			r.Engine = f.Engine
		}
		note, measured := "Not decided yet: this is the variant as the plan has it now.", map[string]string(nil)
		if st != nil {
			note, measured = decided(st, f, note)
		}
		switch r.Notes = append(r.Notes, note); {
		case len(measured) > 0:
			maps.Copy(r.Knobs, measured)
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

// decided is what was decided about a candidate and the knob values that it was measured
// with; none, and the note as given, if nothing was.
func decided(st *store.Store, f *plans.Feature, note string) (string, map[string]string) {
	id, of := runtime.FeatureID(f.Name), f.Name
	if f.Of != "" {
		of = f.Of
	}
	accepted := "not accepted"
	if d, _, ok := st.Latest(runtime.FeatureID(of)); ok && d.Accepted {
		accepted = "accepted"
	}
	say := func(v verdict.Verdict, more string) string { return fmt.Sprintf("Decided: %s%s.", v, more) }
	if f.Of == "" || f.Engine != "" {
		d, _, ok := st.Latest(id)
		switch {
		case !ok || len(d.Variant) == 0:
			return note, nil
		case f.Engine != "":
			return say(d.Verdict, " on engine."+f.Engine+"; "+of+" is "+accepted), d.Variant
		}
		return say(d.Verdict, ", "+accepted), d.Variant
	}
	// A candidate of a feature that chooses: the feature's decision has its outcome, unless
	// that was withdrawn.
	for _, d := range slices.Backward(st.History(runtime.FeatureID(of))) {
		for _, alt := range d.Alternatives {
			if alt.Name != f.Name {
				continue
			}
			for _, ev := range d.Evidence {
				if ev.Feature != f.Name || len(ev.Candidate.Launches) == 0 {
					continue
				}
				l, _ := st.LaunchByID(ev.Candidate.Launches[0])
				if alt.Chosen {
					return say(alt.Verdict, ", chosen; "+of+" is "+accepted), l.Knobs
				}
				return say(alt.Verdict, ", not chosen"), l.Knobs
			}
			return say(alt.Verdict, ", not chosen"), nil
		}
	}
	return note, nil
}
