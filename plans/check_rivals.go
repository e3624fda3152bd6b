package plans

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// rivals warns of features of one phase that try values of the same knobs on the
// same parent: each has its own chance of a false pass, and what passes enters the
// stack one over the other. choose tries them as one feature.
func (c *planCheck) rivals() {
	for _, ph := range c.plan.Phases {
		groups := map[string][]*Feature{}
		var order []string
		for _, f := range ph.Features {
			if len(f.Set) != 1 || len(f.Alternatives) > 0 || f.BuildsOn.Kind == OnAccepted {
				continue
			}
			key := fmt.Sprint(f.BuildsOn.Kind, f.BuildsOn.Feature, f.Protocol, slices.Collect(maps.Keys(f.Set)))
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], f)
		}
		for _, key := range order {
			if len(groups[key]) > 1 {
				c.warnRivals(groups[key])
			}
		}
	}
}

// warnRivals names all of them: choose takes as many.
func (c *planCheck) warnRivals(rivals []*Feature) {
	var knob string
	var names, values []string
	for _, f := range rivals {
		names = append(names, strconv.Quote(f.Name))
		for k, v := range f.Set {
			if knob = k; !slices.Contains(values, strconv.Quote(v)) {
				values = append(values, strconv.Quote(v))
			}
		}
	}
	most := ""
	if len(values) > mostAlternatives {
		most = fmt.Sprintf(" (at most %d of them)", mostAlternatives)
	}
	c.warn(rivals[1].Range, "Rivals for one knob", "Features %s try values of knob %q on one parent. Each may pass by chance, and the last that passes lies over the others in the stack. Try them as one feature, which admits the best at most: choose = { %s = [%s] }%s.",
		verdict.And(names), knob, knob, strings.Join(values, ", "), most)
}
