package steps

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// otherwise says where this plan asks for another candidate than was measured.
func (c *changed) otherwise(f *plans.Feature, kept *gates.Feature) string {
	knobs := c.lab.PlannedKnobs(f, kept.Knobs)
	if f.BuildsOn.Kind == plans.OnAccepted {
		if why := c.otherStack(f, kept); why != "" {
			return why
		}
		knobs = maps.Clone(kept.Knobs)
		maps.Copy(knobs, f.Set)
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		// A knob that is new is looked at where it is known what it changes.
		if was, there := kept.Knobs[name]; there && was != knobs[name] {
			now := knobs[name]
			return fmt.Sprintf("the changed plan sets knob %s to %q, and %q is what was measured: only an apply can tell", name, now, was)
		}
	}
	return ""
}

// otherStack says where a feature would be laid over another stack than it was
// measured on: what was accepted then would not be now, or the reverse.
func (c *changed) otherStack(f *plans.Feature, kept *gates.Feature) string {
	under := c.lab.defaults()
	for _, set := range c.entered {
		maps.Copy(under, set)
	}
	own := maps.Clone(f.Set)
	if of := c.plan.Feature(f.Of); of != nil && of.Choose != nil {
		own = with(own, of.Choose.Knob, "")
	}
	for _, name := range slices.Sorted(maps.Keys(under)) {
		_, sets := own[name]
		if was, known := kept.Knobs[name]; known && !sets && was != under[name] {
			return fmt.Sprintf("it would build on another stack, with knob %s at %q, and %q is what it was measured on: only an apply can tell", name, under[name], was)
		}
	}
	return ""
}

// newKnobs are the knobs of this plan that came after the measurement, as far as
// they change what is started or demanded.
func (c *changed) newKnobs(f *plans.Feature, kept *gates.Feature) (names []string) {
	base, planned := c.lab.defaults(), c.lab.PlannedKnobs(f, kept.Knobs)
	for _, k := range c.plan.Knobs {
		if _, there := kept.Knobs[k.Name]; there {
			continue
		}
		for _, value := range slices.Compact([]string{base[k.Name], planned[k.Name]}) {
			if v := k.Value(value); v != nil && !changesNothing(v) {
				names = append(names, knobValue+k.Name+" = "+value)
			}
		}
	}
	return names
}

// changesNothing reports whether a knob at this value is as if there were none.
func changesNothing(v *plans.KnobValue) bool {
	return len(v.Env)+len(v.Settings)+len(v.Args)+len(v.Command)+len(v.Parts) == 0 && v.Image == "" && v.MustSee.Empty() && v.MustNotSee.Empty()
}

// perhaps is a feature of which this plan does not know whether it would be in the
// stack: it asks for what was never measured, or for more launches, or waits for what
// is not known.
type perhaps struct {
	feature *plans.Feature
	// would is what it would be, in words.
	would string
}

// remember keeps a feature that an apply would decide anew, measure on, or come to
// once what it waits for is known.
func (c *changed) remember(f *plans.Feature, w WouldBe) {
	switch w.WouldBe {
	case verdict.Inconclusive, verdict.Invalid, verdict.Error:
		if w.WouldBe != w.Recorded || !w.Recorded.Kept() || w.Unmeasured || w.open {
			c.perhaps = append(c.perhaps, perhaps{f, string(w.WouldBe)})
		}
	case verdict.Pass, verdict.Waived:
		parent := func(p perhaps) bool { return p.feature.Name == f.BuildsOn.Feature }
		if w.unsure {
			c.perhaps = append(c.perhaps, perhaps{f, "locked by what is not known"})
		} else if !w.Accepted && w.Locked == "" && slices.ContainsFunc(c.perhaps, parent) {
			c.perhaps = append(c.perhaps, perhaps{f, "on a feature of which the same is true"})
		}
	}
}

// perhapsOn says which such feature may be below one that builds on the stack, where
// it was measured without.
func (c *changed) perhapsOn(f *plans.Feature, kept *gates.Feature) string {
	if f.BuildsOn.Kind != plans.OnAccepted {
		return ""
	}
	for _, p := range c.perhaps {
		if p.feature.Name == f.Name || p.feature.Name == f.Of || !c.below(p.feature, f) {
			continue
		}
		brings := map[string][]string{}
		for knob, value := range p.feature.Set {
			brings[knob] = []string{value}
		}
		if choose := p.feature.Choose; choose != nil {
			brings[choose.Knob] = choose.Values
		}
		for _, knob := range slices.Sorted(maps.Keys(brings)) {
			if values := brings[knob]; len(values) > 1 || values[0] != kept.Knobs[knob] {
				return fmt.Sprintf("it builds on what is accepted, and whether feature %s would be in that is not known, which would be %s: an apply would measure it, and this one on top of it where it is accepted", p.feature.Name, p.would)
			}
		}
	}
	return ""
}

// below reports whether a feature is decided before one that builds on the stack.
func (c *changed) below(under, f *plans.Feature) bool {
	n := c.graph.Node(runtime.QualifyID(f.Name))
	if n == nil {
		return true
	}
	return slices.ContainsFunc(n.Needs, func(need runtime.Need) bool { return need.On == runtime.FeatureID(under.Name) })
}
