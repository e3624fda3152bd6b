package steps

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/plans"
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
		if was, now := kept.Knobs[name], knobs[name]; was != now {
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
