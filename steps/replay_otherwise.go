package steps

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// otherwise says where this plan asks for another candidate than was measured; no fact
// where it does not.
func (c *changed) otherwise(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	knobs := c.lab.PlannedKnobs(f, kept.Knobs)
	if f.BuildsOn.Kind == plans.OnAccepted {
		if why := c.otherStack(f, kept); !why.IsZero() {
			return why
		}
		knobs = maps.Clone(kept.Knobs)
		maps.Copy(knobs, f.Set)
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		// A knob that is new is looked at where it is known what it changes.
		if was, there := kept.Knobs[name]; there && was != knobs[name] {
			return verdict.New(code.OtherKnob, verdict.Text("now", knobs[name]), verdict.Text("was", was)).On(name)
		}
	}
	return verdict.Reason{}
}

// otherStack says where a feature would be laid over another stack than it was
// measured on: what was accepted then would not be now, or the reverse.
func (c *changed) otherStack(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	under := c.lab.Defaults()
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
			return verdict.New(code.OtherStack, verdict.Text("now", under[name]), verdict.Text("was", was)).On(name)
		}
	}
	return verdict.Reason{}
}

// newKnobs are the knobs of this plan that came after the measurement, as far as
// they change what is started or demanded.
func (c *changed) newKnobs(f *plans.Feature, kept *gates.Feature) (added []item) {
	base, planned := c.lab.Defaults(), c.lab.PlannedKnobs(f, kept.Knobs)
	for _, k := range c.plan.Knobs {
		if _, there := kept.Knobs[k.Name]; there {
			continue
		}
		for _, value := range slices.Compact([]string{base[k.Name], planned[k.Name]}) {
			if v := k.Value(value); v != nil && !changesNothing(v) {
				added = append(added, item{code.KnobValue, k.Name, value})
			}
		}
	}
	return added
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
	// would is what it would be, or how else that is not known: "locked" by what is not
	// known, or "over" a feature of which the same is true.
	would verdict.Verdict
	how   string
}

// remember keeps a feature that an apply would decide anew, measure on, or come to
// once what it waits for is known.
func (c *changed) remember(f *plans.Feature, w WouldBe) {
	switch w.WouldBe {
	case verdict.Inconclusive, verdict.Invalid, verdict.Error:
		if w.WouldBe != w.Recorded || !w.Recorded.Kept() || w.Unmeasured || w.open {
			c.perhaps = append(c.perhaps, perhaps{feature: f, would: w.WouldBe})
		}
	case verdict.Pass, verdict.Waived:
		parent := func(p perhaps) bool { return p.feature.Name == f.BuildsOn.Feature }
		if w.unsure {
			c.perhaps = append(c.perhaps, perhaps{feature: f, how: "locked"})
		} else if !w.Accepted && w.Locked.IsZero() && slices.ContainsFunc(c.perhaps, parent) {
			c.perhaps = append(c.perhaps, perhaps{feature: f, how: "over"})
		}
	}
}

// perhapsOn says which such feature may be below one that builds on the stack, where
// it was measured without; no fact where none may.
func (c *changed) perhapsOn(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	if f.BuildsOn.Kind != plans.OnAccepted {
		return verdict.Reason{}
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
				why := verdict.New(code.PerhapsUnder)
				if p.how != "" {
					why = verdict.New(code.PerhapsUnder, verdict.Text("how", p.how))
				}
				return why.On(p.feature.Name).Is(p.would)
			}
		}
	}
	return verdict.Reason{}
}

// below reports whether a feature is decided before one that builds on the stack.
func (c *changed) below(under, f *plans.Feature) bool {
	n := c.graph.Node(runtime.QualifyID(f.Name))
	if n == nil {
		return true
	}
	return slices.ContainsFunc(n.Needs, func(need runtime.Need) bool { return need.On == runtime.FeatureID(under.Name) })
}
