package plans

import "strings"

// evidence warns of knobs whose evidence nobody looks at.
func (c *planCheck) evidence() {
	if len(c.features()) == 0 {
		return
	}
	protocols := map[string]bool{}
	if c.plan.Baseline != nil {
		protocols[c.plan.Baseline.Protocol] = true
	}
	for _, f := range c.features() {
		protocols[f.Protocol] = true
	}
	for _, pr := range c.plan.Protocols {
		if protocols[pr.Name] && pr.Level("kernels") != nil {
			return
		}
	}
	for _, k := range c.plan.Knobs {
		for _, v := range k.Values {
			if (!v.MustSee.Empty() || !v.MustNotSee.Empty()) && !c.included(k.Range) {
				c.warn(k.Range, "Evidence is never looked at", "Knob %q says what proves its values, and no protocol in use has a kernels level. Add to one: level \"kernels\" { from = [\"log\"] }.", k.Name)
				break
			}
		}
	}
}

// unused warns of what a plan declares and nothing in it refers to. A plan
// without features is a beginning, or a part that others include.
func (c *planCheck) unused() {
	if len(c.features()) == 0 {
		return
	}
	c.readByRules()
	for _, kind := range []string{"engine", "knob", "workload", "protocol", "imported"} {
		for _, g := range c.l.groups.of[kind] {
			at := rangeOf(g.block.DefRange)
			if c.included(at) || c.refersTo(g) {
				continue
			}
			c.warn(at, "Unused "+kind, "Nothing refers to %s.%s. %s", kind, g.key, unusedHints[kind])
		}
	}
}

var unusedHints = map[string]string{
	"engine":   "Name it in the baseline, or remove it.",
	"knob":     "Set it in a feature, which puts it under test, or in the baseline, or remove it.",
	"workload": "Send it in the benchmark of a protocol, or remove it.",
	"protocol": "Name it in the baseline or in a feature, or remove it.",
	"imported": "Compare with it in a rule, or remove it.",
}

// readByRules notes what rules refer to, and which knobs are set.
func (c *planCheck) readByRules() {
	note := func(kind, name string) { c.l.use(kind + "." + name) }
	set := func(knobs map[string]string) {
		for name := range knobs {
			note("knob", name)
		}
	}
	if c.plan.Baseline != nil {
		set(c.plan.Baseline.Set)
	}
	for _, ph := range c.plan.Phases {
		var rules []*Rule
		for _, f := range ph.Features {
			set(f.Set)
			if f.Choose != nil {
				note("knob", f.Choose.Knob)
			}
			rules = append(rules, f.Criteria...)
		}
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
		for _, r := range rules {
			for _, in := range r.inputs() {
				switch {
				case in.Block != "":
					note(in.Block, in.Name)
				case in.Kind == InputTarget || in.Kind == InputKnob:
					note(string(in.Kind), in.Name)
				}
			}
		}
	}
}

// refersTo reports whether an expression or rule names a block, any block that
// it makes, or all of its kind.
func (c *planCheck) refersTo(g *group) bool {
	used := c.l.used
	kind, _, _ := strings.Cut(g.key, ".")
	if used[g.node()] || used[g.kind] || g.kind == "engine" && used["engine."+kind] {
		return true
	}
	for _, i := range g.instances {
		if used[g.kind+"."+strings.Join(i.block.Labels, ".")] {
			return true
		}
	}
	return len(g.instances) == 0 // nothing was made of it
}

// included reports whether something comes from a file that others share.
func (c *planCheck) included(at Range) bool {
	s := c.l.sources[at.File]
	return s != nil && s.from != nil
}

// use notes that something in the plan refers to a block.
func (l *evalScope) use(node string) {
	if l.used == nil {
		l.used = map[string]bool{}
	}
	l.used[node] = true
}
