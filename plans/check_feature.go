package plans

import (
	"slices"
	"strings"
)

// launches warns of a benchmark of fewer launches an arm than rules on what
// varies between launches are decided from.
func (c *planCheck) launches() {
	for _, pr := range c.plan.Protocols {
		b := pr.Level(BenchmarkLevel)
		_, most := c.plan.launchesUnder(pr.Name)
		if b == nil || most >= firstLook {
			continue
		}
		r := c.readsNumbers(pr.Name)
		if r == nil {
			continue
		}
		at := b.Range
		switch most {
		case 1:
			c.warn(at, "Too few launches", "One launch of each arm says nothing of the noise between launches, so rules on numbers, such as %q, come out inconclusive at best, or fail where one launch is so far off that more are not worth it. Set launches to %d or more.", r.Name, firstLook)
		case 2:
			c.warn(at, "Too few launches", "Two launches of each arm are not looked at, so rules on numbers, such as %q, can only be inconclusive. Set launches to %d or more.", r.Name, firstLook)
		default:
			c.warn(at, "Too few launches", "%d launches of each arm decide rules on numbers, such as %q, only where launch noise was recorded in this environment before; without such a record they can only be inconclusive, since the first look is at %d. Set launches to %[3]d or more.", most, r.Name, firstLook)
		}
	}
}

// readsNumbers is a rule that tests what varies between the launches of a
// protocol.
func (c *planCheck) readsNumbers(protocol string) *Rule {
	for _, ph := range c.plan.Phases {
		var rules []*Rule
		for _, f := range ph.Features {
			rules = append(rules, f.Criteria...)
		}
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
		for _, r := range rules {
			for _, leaf := range r.leaves() {
				if !leaf.Claim.Tested() {
					continue
				}
				if f := c.ns.features[leaf.Claim.Input.Feature]; f != nil && f.Protocol == protocol {
					return r
				}
			}
		}
	}
	return nil
}

func (r *Rule) leaves() []*Leaf {
	if r.Program == nil {
		return nil
	}
	return r.Program.Leaves
}

func (r *Rule) inputs() []*Input {
	if r.Program == nil {
		return nil
	}
	return r.Program.Inputs
}

// hypothesis warns of a claim that no criterion tests.
func (c *planCheck) hypothesis(f *Feature) {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return
	}
	claim, err := c.ns.resolve(strings.Split(h.Metric, "."), &scope{own: f, criterion: true})
	if err != nil {
		return
	}
	var read []string
	for _, r := range f.Criteria {
		for _, in := range r.inputs() {
			if in.Kind != InputMetric {
				continue
			}
			if in.Metric == claim.Metric && in.Cell == claim.Cell {
				return
			}
			if !slices.Contains(read, in.Path) {
				read = append(read, in.Path)
			}
		}
	}
	c.warn(h.Range, "Hypothesis is not tested", "It claims a change of %s, and the criteria of feature %q read %s. Add a criterion on what is claimed, or claim what is tested.", h.Metric, f.Name, orNothing(read))
}

// kernelsAsked warns of a gate that asks for levels before the kernels only, and
// so opens for an engine on the wrong path.
func (c *planCheck) kernelsAsked(ph *Phase) {
	for _, r := range ph.Gate.Rules {
		for _, in := range r.inputs() {
			if in.Kind == InputKnob || in.Kind == InputTarget {
				continue
			}
			pr := c.plan.Protocol(c.protocolOf(in.Feature))
			if in.Kind != InputLevel || pr == nil || pr.Level("kernels") == nil || !earlier(pr, in.Name, "kernels") {
				return
			}
		}
	}
	c.warn(ph.Gate.Range, "Gate does not ask for the kernels", "This gate reads nothing but levels that come before the kernels level, so it opens for an engine that fell back to another kernel. Add the rule \"levels.kernels == 'pass'\".")
}

func (c *planCheck) protocolOf(feature string) string {
	if f := c.ns.features[feature]; f != nil {
		return f.Protocol
	}
	return ""
}

// earlier reports whether one level comes before another.
func earlier(p *Protocol, level, other string) bool {
	for _, l := range p.Levels {
		switch l.Kind {
		case other:
			return false
		case level:
			return true
		}
	}
	return false
}
