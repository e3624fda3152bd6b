package decide

import (
	"maps"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Arm is one variant of a comparison by its names in the plan: an engine with a value for
// every knob.
type Arm struct {
	// Name is its display name: "baseline", "accepted", or the feature's name.
	Name string `json:"name"`
	// Engine is the engine block, "kind.name".
	Engine string `json:"engine"`
	// Set are the knobs that may differ from the baseline. Plans have many knobs, and
	// variants differ in few.
	Set map[string]string `json:"-"`
	// Knobs is the value of every knob, nil if the engine is started as written, and Key
	// its part of the measurement key; both are empty until the variant is resolved.
	Knobs map[string]string `json:"knobs"`
	Key   string            `json:"key"`
	// Row is set for a row of a comparison.
	Row bool `json:"row,omitempty"`
}

// Arms are a candidate and the arms that it may be compared with: its parent, and Root,
// the baseline.
type Arms struct{ Candidate, Parent, Root Arm }

// rootLost is why the baseline dropped out of a benchmark's launches; no fact if it did
// not.
func rootLost(benchmark *ledger.Decision) verdict.Reason {
	for _, r := range benchmark.Reasons {
		if r.Kind == code.ReferenceLost.Kind {
			return r
		}
	}
	return verdict.Reason{}
}

// ArmsOf returns a feature's candidate, its parent and the baseline, given what is
// accepted so far, on the engine that the feature is measured on, none of them resolved.
// It returns runtime.ErrUndecided while that is unknown.
func ArmsOf(v *View, f *plans.Feature) (a Arms, err error) {
	if f, err = representative(v, f); err != nil {
		return a, err
	}
	on := f.Engine
	if on == "" {
		on = v.Plan.Baseline.Engine
	}
	a.Root = Arm{Name: ledger.Baseline, Engine: on, Set: map[string]string{}}
	a.Parent = a.Root
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		a.Parent.Name = f.BuildsOn.Feature
		if a.Parent.Set, err = candidateSet(v, v.Plan.Feature(f.BuildsOn.Feature)); err != nil {
			return a, err
		}
	case plans.OnAccepted:
		a.Parent.Name = "accepted"
		below, settled := accepted(v, f)
		if !settled {
			return a, runtime.ErrUndecided
		}
		a.Parent.Set = map[string]string{}
		for _, e := range below {
			maps.Copy(a.Parent.Set, stackValues(e.feature, e.decision))
		}
		if len(below) > 0 {
			base := v.Plan.DefaultKnobs()
			maps.DeleteFunc(a.Parent.Set, func(knob, value string) bool { return value == base[knob] })
		}
	}
	if len(a.Parent.Set) == 0 {
		a.Parent.Name = ledger.Baseline
	}
	set, err := knobChanges(v, f)
	if err != nil {
		return a, err
	}
	a.Candidate = Arm{Name: f.Name, Engine: on, Set: maps.Clone(a.Parent.Set)}
	maps.Copy(a.Candidate.Set, set)
	return a, nil
}

// candidateSet is the knob values in which a feature that another builds on differs from
// the baseline.
func candidateSet(v *View, f *plans.Feature) (map[string]string, error) {
	d := v.Outcome(runtime.FeatureID(f.Name))
	if d == nil || len(d.Variant) == 0 {
		if why := v.LockedBy(runtime.FeatureID(f.Name)); !why.IsZero() {
			return nil, &verdict.Fault{Reason: verdict.New(code.FeatureNotRun).On(f.Name).From(why)}
		}
		return nil, runtime.ErrUndecided
	}
	return v.Plan.ChangedKnobs(d.Variant), nil
}

// entry is a feature that entered the stack, and the decision that let it in.
type entry struct {
	feature  *plans.Feature
	decision *ledger.Decision
}

// accepted returns the features below one that builds on the stack, in the order in which
// they may enter, and whether all that might be below it are settled. Such a feature
// needs all features before it; those needs, not the caller's, determine what was under
// the feature when it was measured.
func accepted(v *View, f *plans.Feature) (below []entry, settled bool) {
	node := v.Graph.Node(runtime.QualifyID(f.Name))
	if node == nil && len(f.Alternatives) > 0 {
		node = v.Graph.Node(runtime.QualifyID(f.Alternatives[0].Name))
	}
	if node == nil {
		return nil, true
	}
	settled = true
	for _, need := range node.Needs {
		n := v.Graph.Node(need.On)
		if n == nil || n.Kind != runtime.KindFeature {
			continue
		}
		switch d := v.Outcome(need.On); {
		case d == nil && v.LockedBy(need.On).IsZero():
			settled = false
		case d != nil && d.Accepted:
			below = append(below, entry{n.FeatureBlock, d})
		}
	}
	return below, settled
}

// representative is the variant that represents a feature: if it chooses, the winning
// alternative, or without a winner the one that its decision shows. It returns
// runtime.ErrUndecided while that is unknown.
func representative(v *View, f *plans.Feature) (*plans.Feature, error) {
	if f == nil || f.Choose == nil {
		return f, nil
	}
	value := chosenValue(v, f)
	if value == "" {
		if why := v.LockedBy(runtime.FeatureID(f.Name)); !why.IsZero() {
			return nil, &verdict.Fault{Reason: verdict.Say("feature.chooser_not_run",
				"feature {subject}, which makes the choice, was not run").On(f.Name).From(why)}
		}
		return nil, runtime.ErrUndecided
	}
	for _, a := range f.Alternatives {
		if a.Set[f.Choose.Knob] == value {
			return a, nil
		}
	}
	return nil, &verdict.Fault{Reason: verdict.Say("feature.chosen_unknown",
		"feature {subject} was decided with {knob} = {value:q}, which is not one of its alternatives",
		verdict.Text("knob", f.Choose.Knob), verdict.Text("value", value)).On(f.Name)}
}

// chosenValue is the knob value that a feature chose; empty before it has. A feature that
// others confirm is chosen on the first engine.
func chosenValue(v *View, f *plans.Feature) string {
	for _, id := range []string{runtime.FirstID(f.Name), runtime.FeatureID(f.Name)} {
		if d := v.Outcome(id); d != nil && d.Variant[f.Choose.Knob] != "" {
			return d.Variant[f.Choose.Knob]
		}
	}
	return ""
}

// knobChanges is the knob values in which a candidate differs from its parent. What confirms a
// feature that chooses confirms its choice.
func knobChanges(v *View, f *plans.Feature) (map[string]string, error) {
	of := v.Plan.Feature(f.Of)
	if of == nil || of.Choose == nil || f.Engine == "" {
		return f.Set, nil
	}
	value := chosenValue(v, of)
	if value == "" {
		return nil, runtime.ErrUndecided
	}
	return with(f.Set, of.Choose.Knob, value), nil
}

// stackValues is the knob values that an accepted feature adds to the stack.
func stackValues(f *plans.Feature, d *ledger.Decision) map[string]string {
	if f.Choose == nil {
		return f.Set
	}
	return with(f.Set, f.Choose.Knob, d.Variant[f.Choose.Knob])
}

// with returns a copy of knob values in which one knob has this value.
func with(set map[string]string, knob, value string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, set)
	out[knob] = value
	return out
}
