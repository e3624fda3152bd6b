// Package lint warns about a valid plan that would cost GPU time and show nothing: rules
// that never or always hold, too few launches, evidence that nothing checks. It changes
// nothing and decides no rule.
package lint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

// check holds a plan and its findings so far. Most are warnings: the plan is valid, but
// hardly means what its author wanted.
type check struct {
	lang.Report
	scope *eval.Scope
	plan  *plans.Plan
	ns    *rules.Namespace
	// unified is the Registry's; it is called if a rule depends on it.
	unified func() bool
}

// Check runs all checks on a plan without errors: in one with errors, something may be
// missing or unused because of them.
func Check(plan *plans.Plan, ns *rules.Namespace, scope *eval.Scope, reg *plans.Registry) hcl.Diagnostics {
	c := &check{scope: scope, plan: plan, ns: ns, unified: reg.Unified}
	for _, ph := range plan.Phases {
		for _, f := range ph.Features {
			c.rules(f.Criteria)
			c.hypothesis(f)
		}
		if ph.Gate != nil {
			c.rules(ph.Gate.Rules)
		}
	}
	for _, e := range plan.Engines {
		if doubt := reg.Engines[e.Kind].Doubt; doubt != nil {
			for _, d := range doubt(plan, e) {
				c.warn(e.Range, d.Code, d.Summary, "%s", d.Detail)
			}
		}
	}
	c.engineLimits(reg.Levels)
	c.gatesThatLockNothing()
	if len(plan.Features()) > 0 { // else it is a beginning, or a part that others include
		c.protocols()
	}
	c.evidence()
	c.targets()
	if plan.Baseline == nil && len(plan.Phases) == 0 && len(plan.Engines) == 0 {
		// one of only engines is for engine check
		c.warn(plan.Range, "nothing-to-decide", "Plan decides nothing",
			"It has neither a baseline nor a phase, so an apply measures nothing and passes nothing. mxflow init "+
				"writes a plan to start from.")
	}
	return c.Diags
}

// warn reports something in the plan that is legal but hardly intended.
func (c *check) warn(at plans.Range, code, summary, format string, args ...any) {
	c.Warn(lang.HCL(at), code, summary, format, args...)
}

// protocols warns of a protocol in use that checks nothing before it measures, or that
// makes fewer launches per arm than rules on values that vary between them need. A wrong
// kernel path is not noticed in the benchmark.
func (c *check) protocols() {
	for _, p := range c.plan.Protocols {
		b := p.Level(plans.BenchmarkLevel)
		if b == nil || !c.used(p) {
			continue
		}
		varies := func(cmp *plans.Compare) bool { // between its launches
			if !cmp.Tested() {
				return false
			}
			f := c.ns.Features[cmp.Metric.Feature]
			return f != nil && f.Protocol == p.Name
		}
		_, most := c.plan.LaunchesUnder(p.Name)
		for _, r := range c.plan.Rules() {
			if most >= plans.FirstLook || !slices.ContainsFunc(r.Compares(), varies) {
				continue
			}
			c.warn(b.Range, "too-few-values", "Too few launches",
				"With %d per arm, rules on numbers, such as %q, are inconclusive unless launch-to-launch variance is "+
					"already recorded in this environment. Set launches to %d or more.", most, r.Name, plans.FirstLook)
			break
		}
		if len(p.Levels) == 1 && c.plan.CommandEngine() == nil {
			c.warn(p.Range, "nothing-qualified", "Nothing is qualified",
				"Protocol %q only measures: nothing checks that a variant's answers are coherent or that its knobs "+
					"took effect. Add levels before the benchmark: ‹level \"smoke\" { … }› and ‹level \"kernels\" {}›.",
				p.Name)
		}
	}
}

// targets warns of a number to beat of which neither it nor a rule says for which cell of
// its workload it is: it stays open, whatever is measured.
func (c *check) targets() {
	compared := map[string]bool{}
	for _, r := range c.plan.Rules() {
		for _, in := range r.Inputs() {
			compared[in.Path] = true
		}
	}
	for _, t := range c.plan.Targets {
		for _, number := range slices.Sorted(maps.Keys(t.Measured)) {
			cells := t.Measured[number]
			if len(cells) < 2 || compared["target."+t.Name+"."+number] {
				continue
			}
			workload, metric := measure.SplitAddress(number)
			cell, _ := measure.SplitAddress(cells[0])
			c.warn(t.Range, "target-of-several-cells", "Target of several cells",
				"%s has %d cells, and neither the target nor a rule says which one %s is for, "+
					"so it stays open. Name the cell: ‹metrics = { %q = { %s = %v } }›.", workload, len(cells), metric,
				cell, metric, t.Metrics[workload][metric])
		}
	}
}

// used reports whether the baseline or a feature goes through a protocol.
func (c *check) used(p *plans.Protocol) bool {
	goes := func(f *plans.Feature) bool { return f.Protocol == p.Name }
	return c.plan.Baseline != nil && c.plan.Baseline.Protocol == p.Name || slices.ContainsFunc(c.plan.Features(), goes)
}

// The settings that every kind of engine with such limits uses for them.
const (
	mostAtOnce = "max_num_seqs"
	mostTokens = "max_model_len"
)

// engineLimits refuses workloads and levels that the engine under test cannot be sent:
// requests longer than it accepts, and more at once than it runs.
func (c *check) engineLimits(levels map[string]plans.Schema) {
	if c.plan.Baseline == nil {
		return
	}
	e := c.plan.Engine(c.plan.Baseline.Engine)
	if e == nil || e.IsCommand() {
		return
	}
	name := fmt.Sprintf("engine.%s.%s", e.Kind, e.Name)
	limit, known := c.mostOf(e, mostTokens)
	tooLong := func(at plans.Range, of string, longest int) bool {
		if !known || float64(longest) <= limit {
			return false
		}
		c.Fail(lang.HCL(at), "engine-limits", "Requests above the engine's context length",
			"Requests of %s have up to %d tokens, including context and answer, but %s takes %g (%s). Shorten them, "+
				"or raise %[5]s.",
			of, longest, name, limit, mostTokens)
		return true
	}
	slots, bounded := c.mostOf(e, mostAtOnce)
	for _, p := range c.plan.Protocols {
		if !c.used(p) {
			continue
		}
		for _, l := range p.Levels {
			if longest := levels[l.Kind].Longest; longest != nil {
				tooLong(l.Range, fmt.Sprintf("level %q", l.Kind), longest(l))
			}
		}
		for _, sent := range c.ns.Sent[p.Name] {
			w := c.ns.Workloads[sent]
			if w == nil {
				continue
			}
			for _, cell := range c.ns.Cells[sent] {
				if bounded && !w.Open() && float64(cell.Concurrency) > slots {
					c.warn(w.Range, "engine-limits", "Concurrency above the engine's limit",
						"%s keeps %d requests in flight, but %s runs %g at once (%s): the others wait in its queue. "+
							"Lower concurrency, or raise %[5]s.",
						cell.Address, cell.Concurrency, name, slots, mostAtOnce)
					break
				}
				if tooLong(w.Range, cell.Address, w.Longest(cell)) {
					break
				}
			}
		}
	}
}

// mostOf is the greatest value that a setting has in any variant; false if one leaves it
// to the engine.
func (c *check) mostOf(e *plans.Engine, setting string) (most float64, known bool) {
	most, known = e.Settings[setting].(float64)
	for _, k := range c.plan.Knobs {
		for _, v := range k.Values {
			if own, sets := v.Settings[setting]; sets {
				n, number := own.(float64)
				most, known = max(most, n), known && number
			}
		}
	}
	return most, known
}

// gatesThatLockNothing warns of a gate that no phase waits for if a later phase waits for
// nothing: an after was forgotten. Several last phases are fine, and so are phases side
// by side without gates.
func (c *check) gatesThatLockNothing() {
	awaited, waits := map[string]bool{}, map[string]bool{}
	for _, ph := range c.plan.Phases {
		for _, name := range slices.Concat(ph.After, ph.AfterDecided) {
			awaited[name], waits[ph.Name] = true, true
		}
		for _, f := range ph.Features {
			waits[ph.Name] = waits[ph.Name] || f.BuildsOn.Kind == plans.OnFeature || f.BuildsOn.Kind == plans.OnAccepted
			if parent := c.ns.Features[f.BuildsOn.Feature]; parent != nil && parent.Phase != ph.Name {
				awaited[parent.Phase] = true
			}
		}
	}
	var adrift *plans.Phase // the last phase that waits for nothing
	for _, ph := range slices.Backward(c.plan.Phases) {
		if ph.Gate != nil && !awaited[ph.Name] && adrift != nil {
			c.warn(ph.Gate.Range, "gate-without-effect", "Gate locks nothing",
				"The later phase %q runs even if this gate fails. If it should not, add to it: ‹after = [phase.%s]›.",
				adrift.Name, ph.Name)
		}
		if !waits[ph.Name] {
			adrift = ph
		}
	}
}

// evidence warns of knobs whose evidence is never checked, or only shows what was
// requested.
func (c *check) evidence() {
	checked := len(c.plan.Features()) == 0 || slices.ContainsFunc(c.plan.Protocols, func(p *plans.Protocol) bool {
		return p.Level("kernels") != nil && c.used(p)
	})
	for _, k := range c.plan.Knobs {
		for _, v := range k.Values {
			if !checked && (!v.MustSee.Empty() || !v.MustNotSee.Empty()) {
				c.warn(k.Range, "evidence-not-looked-at", "Evidence is never checked",
					"Knob %q declares evidence, but no protocol in use has a kernels level. Add one: ‹level "+
						"\"kernels\" { from = [\"log\"] }›.", k.Name)
				break
			}
			if v.MustSee.AtStart || slices.ContainsFunc(lang.KeysOf(v.MustSee.Observed), c.onlyEchoed) {
				c.warn(v.Range, "rests-on-configuration", "Evidence only repeats the configuration",
					"A line printed from the engine's configuration does not prove %s = %q. Name a line or an "+
						"observation that shows what it does while answering.", k.Name, v.Name)
			}
		}
	}
}

// onlyEchoed reports whether an observation exists and, in all engines that have it, only
// repeats what was requested.
func (c *check) onlyEchoed(name string) (asked bool) {
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
