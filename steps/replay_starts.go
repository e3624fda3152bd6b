package steps

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// compareStarts finds what the changed plan would start or send otherwise than the
// recorded one. Rules, thresholds, targets, and how gates decide are free to
// change: they are what replaying with another plan is about.
func (c *changed) compareStarts() (notes []string) {
	runs := c.store.Runs()
	if len(runs) == 0 {
		return nil
	}
	recorded := c.planOf(runs[len(runs)-1].ID)
	if recorded.res == nil {
		return []string{"Whether the changed plan starts and sends what was measured could not be compared: " + recorded.why + "."}
	}
	if !recorded.exact {
		notes = append(notes, "Whether the changed plan starts and sends what was measured was compared with the recorded plan as it comes out without the variables that no run records: give --var and --var-file as they were given then.")
	}
	was, now := startedBy(recorded.res.Plan), startedBy(c.plan)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		// What only the changed plan has was never measured, and what reads it
		// finds nothing.
		if text, there := now[name]; there && text != was[name] {
			c.differs = append(c.differs, name)
		}
	}
	return notes
}

// startedBy is what a plan starts and sends, by block.
func startedBy(p *plans.Plan) map[string]string {
	out := map[string]string{}
	put := func(name string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(err.Error())
		}
		out[name] = string(text)
	}
	for _, e := range p.Engines {
		put("engine "+e.Kind+"."+e.Name, e)
	}
	for _, k := range p.Knobs {
		for _, v := range k.Values {
			bare := *v
			bare.MustSee, bare.MustNotSee = plans.Evidence{}, plans.Evidence{}
			put("knob "+k.Name+" = "+v.Name, bare)
		}
	}
	for _, w := range p.Workloads {
		bare := *w
		bare.Summary = ""
		put("workload "+w.Name, bare)
	}
	if b := p.Baseline; b != nil {
		put("baseline", []any{b.Engine, b.Set})
	}
	return out
}
