package plans

import (
	"fmt"
	"maps"
	"slices"
)

// rivals warns of features of one phase that try values of the same knobs on the
// same parent: each has its own chance of a false pass, and what passes enters the
// stack one over the other. choose tries them as one feature.
func (c *planCheck) rivals() {
	for _, ph := range c.plan.Phases {
		first := map[string]*Feature{}
		warned := map[string]bool{}
		for _, f := range ph.Features {
			if len(f.Set) == 0 || len(f.Alternatives) > 0 {
				continue
			}
			knobs := slices.Sorted(maps.Keys(f.Set))
			key := fmt.Sprint(f.BuildsOn.Kind, f.BuildsOn.Feature, f.Protocol, knobs)
			other := first[key]
			switch {
			case other == nil:
				first[key] = f
			case !warned[key] && f.BuildsOn.Kind != OnAccepted && len(knobs) == 1:
				warned[key] = true
				c.warn(f.Range, "Rivals for one knob", "Features %q and %q try values of knob %q on one parent. Each may pass by chance, and the last that passes lies over the others in the stack. Try them as one feature, which admits the best at most: choose = { %s = [%q, %q] }.",
					other.Name, f.Name, knobs[0], knobs[0], other.Set[knobs[0]], f.Set[knobs[0]])
			}
		}
	}
}
