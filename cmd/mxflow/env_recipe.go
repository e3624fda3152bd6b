package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// recipe is a variant and how it came to be.
type recipe struct {
	plan, variant, engine string
	// stack are the features in it, in order; knobs the value of every knob.
	stack []string
	knobs map[string]string
	// notes are what to know of it.
	notes []string
	spec  engine.Spec
	kind  kinds.Kind
	// shows says that sensitive values are written out.
	shows bool
}

// recipeOf resolves the variant that the arguments name.
func (a *app) recipeOf(args []string, f envFlags) (*recipe, error) {
	path, err := a.planFile(args[1:])
	if err != nil {
		return nil, err
	}
	p, g, loaded, err := a.load(path, f.vars, "")
	if err != nil {
		return nil, err
	}
	if p.Baseline == nil {
		return nil, fmt.Errorf("plan %s has no baseline, and so no variants: it compares nothing", p.Name)
	}
	st, err := store.OpenReadOnly(a.stateDir(path))
	if errors.Is(err, fs.ErrNotExist) {
		st, err = nil, ledgerGone(a.stateDir(path))
	}
	if err != nil {
		return nil, err
	}
	if st != nil {
		defer st.Close()
		if err := samePlan(st, p); err != nil {
			return nil, err
		}
	}
	lab, err := a.lab(p, g, st, "", "")
	if err != nil {
		return nil, err
	}
	r := &recipe{plan: p.Name, variant: strings.TrimPrefix(args[0], "feature."), engine: p.Baseline.Engine}
	if err := r.resolve(p, lab, st); err != nil {
		return nil, err
	}
	r.notes = append(r.notes, givenThen(st, loaded)...)
	if f.engine != "" {
		r.engine = f.engine
	}
	r.spec, r.kind, err = lab.VariantSpec(r.engine, r.knobs)
	if err != nil {
		return nil, fmt.Errorf("%s of plan %s: %w", r.variant, p.Name, err)
	}
	return r, nil
}

// planFile is the plan that is named, or else the one that was applied last in
// this folder.
func (a *app) planFile(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	st, err := a.reader(nil)
	if err != nil {
		return "", err
	}
	defer st.Close()
	runs := st.Runs()
	if len(runs) == 0 {
		return "", errors.New("nothing was applied here: name the plan")
	}
	given := runs[len(runs)-1].PlanFile
	for _, path := range []string{given, filepath.Base(given)} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("the plan that was applied here, %s, is not there any more: name the plan", given)
}

// resolve finds the variant's knob values.
func (r *recipe) resolve(p *plans.Plan, lab *steps.Lab, st *store.Store) error {
	var stack report.Stack
	if st != nil {
		stack = report.AcceptedStack(st)
		if runs := st.Runs(); len(runs) > 0 {
			if v, err := st.Run(runs[len(runs)-1].ID); err == nil && v.Start != nil && v.Start.PlanDigest != p.Digest() {
				r.notes = append(r.notes, "The plan, or a variable of it, has changed since it was applied.")
			}
		}
	}
	r.knobs = lab.DefaultKnobs()
	switch r.variant {
	case "baseline":
		return nil
	case "accepted":
		return r.resolveStack(p, stack)
	}
	var f *plans.Feature
	names := []string{"accepted", "baseline"}
	for _, c := range steps.Candidates(p) {
		names = append(names, c.Name)
		if c.Name == r.variant {
			f = c
		}
	}
	if f == nil {
		return fmt.Errorf("plan %s has no feature %q%s", p.Name, r.variant, steps.DidYouMean(r.variant, names))
	}
	if f.Engine != "" {
		r.engine = f.Engine
	}
	return r.resolveFeature(p, f, lab, st, stack)
}

// resolveStack lays the accepted features over the plan's baseline.
func (r *recipe) resolveStack(p *plans.Plan, stack report.Stack) error {
	if len(stack.Features) == 0 {
		r.notes = append(r.notes, "Nothing was accepted: this is the baseline.")
	}
	for _, f := range stack.Features {
		r.stack = append(r.stack, f.Feature)
		for _, knob := range slices.Sorted(maps.Keys(f.Set)) {
			if p.Knob(knob) == nil {
				return fmt.Errorf("feature %s was accepted with knob %s = %s, and the plan has no such knob any more: use the plan that was applied, or apply this one", f.Feature, knob, f.Set[knob])
			}
		}
		maps.Copy(r.knobs, f.Set)
	}
	return nil
}

// resolveFeature takes what was measured; before that, what the plan says.
func (r *recipe) resolveFeature(p *plans.Plan, f *plans.Feature, lab *steps.Lab, st *store.Store, stack report.Stack) error {
	says := "Not decided yet: this is the variant as the plan has it now."
	if st != nil {
		decided, knobs := decidedAs(st, f)
		if decided != "" {
			says = decided
		}
		if len(knobs) > 0 {
			maps.Copy(r.knobs, knobs)
			for knob := range r.knobs {
				if p.Knob(knob) == nil {
					return fmt.Errorf("feature %s was measured with knob %s, and the plan has no such knob any more: use the plan that was applied, or apply this one", f.Name, knob)
				}
			}
			r.notes = append(r.notes, says)
			return nil
		}
	}
	if len(f.Alternatives) > 0 {
		var names []string
		for _, alternative := range f.Alternatives {
			names = append(names, alternative.Name)
		}
		return fmt.Errorf("feature %s chooses among %s, and has not chosen yet: name one of them", f.Name, strings.Join(names, ", "))
	}
	r.knobs = lab.PlannedKnobs(f, stack.Knobs)
	r.notes = append(r.notes, says)
	return nil
}
