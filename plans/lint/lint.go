// Package lint checks a plan without mistakes for what would cost GPU time and show
// nothing: rules that never or always hold, too few launches, blocks that nothing uses.
// It changes nothing and decides no rule.
package lint

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

// findings are the findings so far.
type findings struct{ lang.Report }

// warn reports something in the plan that is legal but hardly intended.
func (f *findings) warn(at plans.Range, code, summary, format string, args ...any) {
	f.Warn(lang.HCL(at), code, summary, format, args...)
}

// refuse reports an error in the plan.
func (f *findings) refuse(at plans.Range, code, summary, format string, args ...any) {
	f.Fail(lang.HCL(at), code, summary, format, args...)
}

// planCheck checks everything in a plan besides its rules. Most findings are warnings:
// the plan does what it says, but hardly what was meant.
type planCheck struct {
	*findings
	scope *eval.Scope
	plan  *plans.Plan
	ns    *rules.Namespace
}

// Check runs all checks on a plan without errors: in one with errors, something may be
// missing or unused because of them.
func Check(plan *plans.Plan, ns *rules.Namespace, scope *eval.Scope, reg *plans.Registry) hcl.Diagnostics {
	found := &findings{}
	c := &planCheck{findings: found, scope: scope, plan: plan, ns: ns}
	r := &ruleCheck{findings: found, plan: plan, ns: ns, files: scope.Files(), unified: reg.Unified}
	for _, ph := range plan.Phases {
		for _, f := range ph.Features {
			r.rules("criterion", f.Criteria)
			c.hypothesis(f)
			r.expectsLoss(f)
		}
		if ph.Gate != nil {
			r.rules("rule", ph.Gate.Rules)
			c.kernelsAsked(ph)
		}
	}
	c.engineLimits(reg.Levels)
	c.launches()
	c.rivals()
	c.gatesThatLockNothing()
	c.evidence()
	c.configured()
	c.qualified()
	c.unused()
	c.nothing()
	return found.Diags
}

// nothing warns of a plan that measures nothing. One of only engines is for engine check.
func (c *planCheck) nothing() {
	if p := c.plan; p.Baseline == nil && len(p.Phases) == 0 && len(p.Engines) == 0 {
		c.warn(p.Range, "nothing-to-decide", "Plan decides nothing", "It has neither a baseline nor a phase, so an apply measures nothing and passes nothing. mxflow init writes a plan to start from.")
	}
}

// used are the protocols that the baseline and features go through.
func (c *planCheck) used() map[string]bool {
	names := map[string]bool{}
	if c.plan.Baseline != nil {
		names[c.plan.Baseline.Protocol] = true
	}
	for _, f := range c.plan.Features() {
		names[f.Protocol] = true
	}
	return names
}

// launches warns of a benchmark with fewer launches per arm than rules on values that
// vary between launches need for a decision.
func (c *planCheck) launches() {
	for _, pr := range c.plan.Protocols {
		b := pr.Level(plans.BenchmarkLevel)
		_, most := c.plan.LaunchesUnder(pr.Name)
		if b == nil || most >= plans.FirstLook {
			continue
		}
		r := c.readsNumbers(pr.Name)
		if r == nil {
			continue
		}
		at := b.Range
		switch most {
		case 1:
			c.warn(at, "too-few-values", "Too few launches", "One launch per arm does not show launch-to-launch variance, so rules on numbers, such as %q, are inconclusive, or fail if the launch is so far off that more are not worth it. Set launches to %d or more.", r.Name, plans.FirstLook)
		case 2:
			c.warn(at, "too-few-values", "Too few launches", "Two launches per arm decide rules on numbers, such as %q, only if the effect is clear against launch-to-launch variance already recorded in this environment; otherwise they are inconclusive. Set launches to %d or more.", r.Name, plans.FirstLook)
		default:
			c.warn(at, "too-few-values", "Too few launches", "%d launches per arm decide rules on numbers, such as %q, only if launch-to-launch variance is already recorded in this environment; otherwise they are inconclusive, as the first look is at %d. Set launches to %[3]d or more.", most, r.Name, plans.FirstLook)
		}
	}
}

// readsNumbers is a rule that tests what varies between the launches of a protocol; nil
// if there is none.
func (c *planCheck) readsNumbers(protocol string) *plans.Rule {
	for _, r := range c.plan.Rules() {
		for _, leaf := range r.Leaves() {
			if !leaf.Claim.Tested() {
				continue
			}
			if f := c.ns.Features[leaf.Claim.Input.Feature]; f != nil && f.Protocol == protocol {
				return r
			}
		}
	}
	return nil
}

// hypothesis warns of a claim that no criterion tests.
func (c *planCheck) hypothesis(f *plans.Feature) {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return
	}
	claim, err := c.ns.Resolve(strings.Split(h.Metric, "."), &rules.Scope{Own: f, Criterion: true})
	if err != nil {
		return
	}
	var read []string
	for _, r := range f.Criteria {
		for _, in := range r.Inputs() {
			if in.Kind != plans.InputMetric {
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
	c.warn(h.Range, "claim-not-tested", "Hypothesis is not tested", "It claims a change of %s, but the criteria of feature %q read %s. Add a criterion on the claimed metric, or claim a tested one.", h.Metric, f.Name, lang.OrNothing(read))
}

// kernelsAsked warns of a gate that reads only levels before the kernels, and so opens
// for an engine on the wrong path.
func (c *planCheck) kernelsAsked(ph *plans.Phase) {
	for _, r := range ph.Gate.Rules {
		for _, in := range r.Inputs() {
			if in.Kind == plans.InputKnob || in.Kind == plans.InputTarget {
				continue
			}
			pr := c.plan.Protocol(c.protocolOf(in.Feature))
			if in.Kind != plans.InputLevel || pr == nil || pr.Level("kernels") == nil || !earlier(pr, in.Name, "kernels") {
				return
			}
		}
	}
	c.warn(ph.Gate.Range, "gate-without-effect", "Gate does not check the kernels", "This gate only reads levels before the kernels level, so it passes for an engine that fell back to another kernel. Add the rule \"levels.kernels == 'pass'\".")
}

func (c *planCheck) protocolOf(feature string) string {
	if f := c.ns.Features[feature]; f != nil {
		return f.Protocol
	}
	return ""
}

// earlier reports whether one level comes before another.
func earlier(p *plans.Protocol, level, other string) bool {
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

// The settings that every kind of engine with such limits uses for them.
const (
	mostAtOnce = "max_num_seqs"
	mostTokens = "max_model_len"
)

// engineLimits refuses workloads and levels that the engine under test cannot be sent:
// requests longer than it accepts, and more at once than it runs.
func (c *planCheck) engineLimits(levels map[string]plans.Schema) {
	if c.plan.Baseline == nil {
		return
	}
	e := c.plan.Engine(c.plan.Baseline.Engine)
	if e == nil || e.IsCommand() {
		return
	}
	seen, looked := map[string]bool{}, map[string]bool{}
	protocols := []string{c.plan.Baseline.Protocol}
	for _, f := range c.plan.Features() {
		protocols = append(protocols, f.Protocol)
	}
	for _, protocol := range protocols {
		if p := c.plan.Protocol(protocol); p != nil && !looked[protocol] {
			looked[protocol] = true
			c.fitsLevels(e, p, levels)
		}
		for _, name := range c.ns.Sent[protocol] {
			if w := c.ns.Workloads[name]; w != nil && !seen[name] {
				seen[name] = true
				c.fitsEngine(e, w)
			}
		}
	}
}

func (c *planCheck) fitsEngine(e *plans.Engine, w *plans.Workload) {
	name := fmt.Sprintf("engine.%s.%s", e.Kind, e.Name)
	for _, cell := range c.ns.Cells[w.Name] {
		if least := float64(cell.Concurrency) * w.MinReached; !w.Open() {
			if limit, known := c.mostOf(e, mostAtOnce); known && least > limit {
				c.refuse(w.Range, "engine-limits", "Concurrency above the engine's limit", "%s keeps %d requests in flight, but %s runs %g at once (%s), so the result could only be invalid. Lower concurrency, raise %s, or set min_reached = 0 to measure queued requests.",
					cell.Address, cell.Concurrency, name, limit, mostAtOnce, mostAtOnce)
				return
			}
		}
		if limit, known := c.mostOf(e, mostTokens); known && float64(w.Longest(cell)) > limit {
			c.refuse(w.Range, "engine-limits", "Requests above the engine's context length", "Requests of %s have up to %d tokens, including context and answer, but %s takes %g (%s). Shorten them, or raise %s.",
				cell.Address, w.Longest(cell), name, limit, mostTokens, mostTokens)
			return
		}
	}
}

// fitsLevels refuses levels whose requests are longer than the engine accepts.
func (c *planCheck) fitsLevels(e *plans.Engine, p *plans.Protocol, levels map[string]plans.Schema) {
	limit, known := c.mostOf(e, mostTokens)
	for _, l := range p.Levels {
		if longest := levels[l.Kind].Longest; known && longest != nil && float64(longest(l)) > limit {
			c.refuse(l.Range, "engine-limits", "Requests above the engine's context length", "Requests of level %q have up to %d tokens, including the answer, but engine.%s.%s takes %g (%s). Shorten them, or raise %s.",
				l.Kind, longest(l), e.Kind, e.Name, limit, mostTokens, mostTokens)
		}
	}
}

// mostOf is the greatest value that a setting has in any variant; false if one leaves it
// to the engine.
func (c *planCheck) mostOf(e *plans.Engine, setting string) (most float64, known bool) {
	most, known = e.Settings[setting].(float64)
	set := false // by a knob whose values all have it
	for _, k := range c.plan.Knobs {
		all := true
		for _, v := range k.Values {
			own, here := v.Settings[setting]
			n, number := own.(float64)
			switch {
			case !here:
				all = false
			case !number:
				return 0, false
			default:
				most = max(most, n)
			}
		}
		set = set || all
	}
	return most, known || set
}

// gatesThatLockNothing warns of a gate that no phase waits for if a later phase waits for
// nothing: an after was forgotten. Several last phases are fine, and so are phases side
// by side without gates.
func (c *planCheck) gatesThatLockNothing() {
	awaited := map[string]bool{}
	for _, ph := range c.plan.Phases {
		for _, name := range slices.Concat(ph.After, ph.AfterDecided) {
			awaited[name] = true
		}
		for _, f := range ph.Features {
			if parent := c.ns.Features[f.BuildsOn.Feature]; parent != nil && parent.Phase != ph.Name {
				awaited[parent.Phase] = true
			}
		}
	}
	var adrift *plans.Phase // the last phase that waits for nothing
	for i := len(c.plan.Phases) - 1; i >= 0; i-- {
		ph := c.plan.Phases[i]
		if ph.Gate != nil && !awaited[ph.Name] && adrift != nil {
			c.warn(ph.Gate.Range, "gate-without-effect", "Gate locks nothing", "No phase comes after phase %q, and the later phase %q comes after none: it runs even if this gate fails. If it should not, add to it: after = [phase.%s].", ph.Name, adrift.Name, ph.Name)
		}
		if !c.waits(ph) {
			adrift = ph
		}
	}
}

// waits reports whether a phase depends on what comes before it.
func (c *planCheck) waits(ph *plans.Phase) bool {
	if len(ph.After)+len(ph.AfterDecided) > 0 {
		return true
	}
	for _, f := range ph.Features {
		if f.BuildsOn.Kind == plans.OnFeature || f.BuildsOn.Kind == plans.OnAccepted {
			return true
		}
	}
	return false
}

// rivals warns of features of one phase that try values of the same knob on the same
// parent: each has its own chance of a false pass, and those that pass override each
// other in the stack. choose tries them as one feature.
func (c *planCheck) rivals() {
	for _, ph := range c.plan.Phases {
		groups := map[string][]*plans.Feature{}
		var order []string
		for _, f := range ph.Features {
			if len(f.Set) != 1 || len(f.Alternatives) > 0 || f.BuildsOn.Kind == plans.OnAccepted {
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
func (c *planCheck) warnRivals(rivals []*plans.Feature) {
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
	if len(values) > plans.MostAlternatives {
		most = fmt.Sprintf(" (at most %d of them)", plans.MostAlternatives)
	}
	c.warn(rivals[1].Range, "rivals-for-one-knob", "Rivals for one knob", "Features %s set knob %q on the same parent. Each may pass by chance, and the last to pass overrides the others in the stack. Make them one feature, which admits only the best: choose = { %s = [%s] }%s.",
		verdict.And(names), knob, knob, strings.Join(values, ", "), most)
}

// evidence warns of knobs whose evidence is never checked.
func (c *planCheck) evidence() {
	if len(c.plan.Features()) == 0 {
		return
	}
	protocols := c.used()
	for _, pr := range c.plan.Protocols {
		if protocols[pr.Name] && pr.Level("kernels") != nil {
			return
		}
	}
	for _, k := range c.plan.Knobs {
		for _, v := range k.Values {
			if (!v.MustSee.Empty() || !v.MustNotSee.Empty()) && !c.included(k.Range) {
				c.warn(k.Range, "evidence-not-looked-at", "Evidence is never checked", "Knob %q declares evidence, but no protocol in use has a kernels level. Add one: level \"kernels\" { from = [\"log\"] }.", k.Name)
				break
			}
		}
	}
}

// configured warns of knobs whose evidence only shows what was requested.
func (c *planCheck) configured() {
	for _, k := range c.plan.Knobs {
		if c.included(k.Range) {
			continue
		}
		for _, v := range k.Values {
			if v.MustSee.AtStart {
				c.warn(v.Range, "rests-on-configuration", "Evidence only repeats the configuration", "With at_start, lines that only repeat the configuration prove %s = %q, whatever the engine then does. Name a line or an observation that shows what it does while answering.", k.Name, v.Name)
				continue
			}
			for _, name := range lang.KeysOf(v.MustSee.Observed) {
				if c.asked(name) {
					c.warn(v.Range, "rests-on-configuration", "Observation only repeats the configuration", "%s is printed from the engine's configuration, which does not prove %s = %q. Name a line or an observation that shows what it does while answering, or accept this as weaker evidence with at_start = true.", name, k.Name, v.Name)
				}
			}
		}
	}
}

// asked reports whether an observation exists and, in all engines that have it, only
// repeats what was requested.
func (c *planCheck) asked(name string) (asked bool) {
	for _, e := range c.plan.Engines {
		for _, o := range e.Observed {
			if o.Name == name {
				if !o.Asked {
					return false
				}
				asked = true
			}
		}
	}
	return asked
}

// unused warns of what a plan declares but nothing in it refers to. A plan without
// features is a beginning, or a part that others include.
func (c *planCheck) unused() {
	if len(c.plan.Features()) == 0 {
		return
	}
	c.readByRules()
	for _, kind := range []string{"engine", "knob", "workload", "protocol", "imported"} {
		for _, g := range c.scope.Groups.Of[kind] {
			at := lang.RangeOf(g.Block.DefRange)
			if c.included(at) || c.refersTo(g) {
				continue
			}
			c.warn(at, "unused", "Unused "+kind, "Nothing refers to %s.%s. %s", kind, g.Key, unusedHints[kind])
		}
	}
}

var unusedHints = map[string]string{
	"engine":   "Use it in the baseline, or remove it.",
	"knob":     "Set it in a feature to test it, set it in the baseline, or remove it.",
	"workload": "Send it in the benchmark of a protocol, or remove it.",
	"protocol": "Use it in the baseline or a feature, or remove it.",
	"imported": "Use it in a rule, or remove it.",
}

// readByRules notes what rules refer to, and which knobs are set.
func (c *planCheck) readByRules() {
	note := func(kind, name string) { c.scope.Use(kind + "." + name) }
	set := func(knobs map[string]string) {
		for name := range knobs {
			note("knob", name)
		}
	}
	if c.plan.Baseline != nil {
		set(c.plan.Baseline.Set)
	}
	for _, f := range c.plan.Features() {
		set(f.Set)
		if f.Choose != nil {
			note("knob", f.Choose.Knob)
		}
	}
	for _, r := range c.plan.Rules() {
		for _, in := range r.Inputs() {
			switch {
			case in.Block != "":
				note(in.Block, in.Name)
			case in.Kind == plans.InputTarget || in.Kind == plans.InputKnob:
				note(string(in.Kind), in.Name)
			}
		}
	}
}

// refersTo reports whether an expression or rule names a block, any block that it makes,
// or all of its kind.
func (c *planCheck) refersTo(g *eval.Group) bool {
	used := c.scope.Used
	kind, _, _ := strings.Cut(g.Key, ".")
	if used[g.Node()] || used[g.Kind] || g.Kind == "engine" && used["engine."+kind] {
		return true
	}
	for _, i := range g.Instances {
		if used[g.Kind+"."+strings.Join(i.Block.Labels, ".")] {
			return true
		}
	}
	return len(g.Instances) == 0 // nothing was made of it
}

// included reports whether something comes from a file that others share.
func (c *planCheck) included(at plans.Range) bool {
	s := c.scope.Sources[at.File]
	return s != nil && s.From != nil
}

// qualified warns of a protocol that measures a variant without any check before. It may
// be intended: faster garbage is noticed in the benchmark, a kernel path that was not
// taken is not.
func (c *planCheck) qualified() {
	if len(c.plan.Features()) == 0 || c.plan.CommandEngine() != nil {
		return
	}
	used := c.used()
	for _, p := range c.plan.Protocols {
		if used[p.Name] && len(p.Levels) == 1 && p.Level(plans.BenchmarkLevel) != nil && !c.included(p.Range) {
			c.warn(p.Range, "nothing-qualified", "Nothing is qualified", "Protocol %q only measures: nothing checks that a variant's answers are coherent or that its knobs took effect. Add levels before the benchmark: level \"smoke\" { … } and level \"kernels\" {}.", p.Name)
		}
	}
}
