package rules

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// leastCompared and mostCompared are how many launches per engine a comparison needs for
// rules on its rows: those of the first look without recorded noise, and of the last that
// is calibrated.
const leastCompared, mostCompared = 4, 12

// row resolves compare.<step>["<kind>.<engine>"].….
func (ns *Namespace) row(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads a comparison", "A criterion can only read its own feature. Move this rule to the gate of a phase, which can read comparisons.")
	}
	ph, step, err := ns.comparison(plans.CompareStep, "<kind>.<engine>", path, sc)
	if err != nil {
		return nil, err
	}
	var c plans.Compared
	if err := step.Decode(&c); err != nil {
		return nil, Wrong("invalid-address", "Invalid comparison", "%v.", err)
	}
	// Without quotes the name of an engine is two elements.
	if len(path) > 3 && slices.Contains(c.Engines, path[2]+"."+path[3]) {
		return nil, Wrong("invalid-address", "Row without quotes", "Put the engine of a row in brackets: write %s.%s[%q]%s.", plans.CompareStep, step.Name, path[2]+"."+path[3], below(path[4:]))
	}
	if len(path) < 4 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write a row and its metric, as in %s.%s[%q].<workload>.tg.gain.", plans.CompareStep, step.Name, another(c.Engines, c.Reference))
	}
	in.Row = &plans.Row{Phase: ph.Name, Step: step.Name, Engine: path[2]}
	if in.Feature = in.Row.Key(); !slices.Contains(c.Engines, path[2]) {
		return nil, Wrong("unknown-reference", "Unknown row", "Step %q compares %s; it has no row %q.%s", step.Name, lang.OrNothing(c.Engines), path[2], lang.DidYouMean(path[2], c.Engines))
	}
	if err := decidable(step, c.Launches); err != nil {
		return nil, err
	}
	if in, err = ns.ofRow(in, step, path[2], path[3:]); err != nil {
		return nil, err
	}
	if in.Against != plans.Parent {
		return nil, Wrong("invalid-address", "No other arm in a comparison", "Rows of a comparison are always compared with its reference, %s; remove %s.", c.Reference, in.Against.Suffix())
	}
	if in.Row.Engine == c.Reference && in.Relation != plans.Own {
		return nil, Wrong("rule-reads-nothing", "Compared with itself", "%s is the reference of step %q, with which the other rows are compared. Use one of those, or its own value.", c.Reference, step.Name)
	}
	return in, nil
}

// decidable refuses a step with too few or too many launches for rules to be decided.
func decidable(step *plans.Block, launches int) *Error {
	if launches >= leastCompared && launches <= mostCompared {
		return nil
	}
	return Wrong("undecidable-comparison", "Wrong number of launches for rules", "Rules need %d to %d launches per row, but step %q makes %d. Set launches = %d in it.", leastCompared, mostCompared, step.Name, launches, min(max(launches, leastCompared), mostCompared))
}

// comparison is the step of a kind that an address names, in the gate's phase or one
// before it; row is the form of its rows' names.
func (ns *Namespace) comparison(kind, row string, path []string, sc *Scope) (*plans.Phase, *plans.Block, *Error) {
	var names, phases []string
	var of *plans.Phase
	var found *plans.Block
	for _, ph := range ns.plan.Phases {
		for _, b := range ph.Steps {
			if b.Kind != kind || !ns.before(sc, ph.Name) {
				continue
			}
			names = append(names, b.Name)
			if len(path) > 1 && b.Name == path[1] {
				of, found, phases = ph, b, append(phases, ph.Name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil, Wrong("unknown-reference", "No comparison before this gate", "%s.* reads a step %q, but neither this phase nor one before it has such a step.", kind, kind)
	case len(path) < 2:
		return nil, nil, Wrong("invalid-address", "Incomplete address", "Write %s.%s[%q].<workload>.tg.gain.", kind, names[0], row)
	case found == nil:
		return nil, nil, Wrong("unknown-reference", "Unknown comparison", "This phase and those before it have no step %q %q; they have %s.%s", kind, path[1], strings.Join(names, ", "), lang.DidYouMean(path[1], names))
	case len(phases) > 1:
		return nil, nil, Wrong("invalid-address", "Which comparison?", "Phases %s each have a step %q called %q before this gate ends. Give them different names.", strings.Join(phases, ", "), kind, path[1])
	}
	return of, found, nil
}

// ofRow resolves what follows a row of that engine.
func (ns *Namespace) ofRow(in *plans.Input, step *plans.Block, engine string, rest []string) (*plans.Input, *Error) {
	of := func(scope measure.Scope) (*plans.Input, *Error) {
		if len(rest) < 2 {
			return nil, Wrong("invalid-address", "Incomplete address", "Write %s.<metric>, with one of %s.", rest[0], strings.Join(metricNames(scope), ", "))
		}
		m, ok := measure.LookupIn(rest[1], scope)
		if !ok {
			return nil, Wrong("unknown-metric", "Unknown metric", "%s.* of a row has no metric %q.%s", rest[0], rest[1], suggestMetric(rest[1], metricNames(scope)))
		}
		cell := rest[0]
		if scope == measure.PerLaunch {
			cell = ""
		}
		return ns.metric(in, cell, m, rest[2:])
	}
	sendable := ns.plan.Sendable(step)
	switch head := rest[0]; {
	case slices.Contains(sendable, head):
		in.Unsent = ns.unsent(ns.plan.Sent(step), step.Name, head)
		return ns.ofWorkload(in, rest)
	case head == "engine":
		return of(measure.PerLaunch)
	case head == "gpu":
		return of(measure.PerGPU)
	case head == "host":
		return of(measure.PerHost)
	case head == plans.CommandKind && ns.plan.Engine(engine) != nil:
		e := ns.plan.Engine(engine)
		if len(rest) < 2 {
			return nil, Wrong("invalid-address", "Incomplete address", "Name a metric of engine.%s: command.<metric>.", engine)
		}
		p, rest, names, ok := plans.PrintedAt(e.Prints(), rest[1:])
		if !ok {
			return nil, ns.unprinted(e, strings.TrimPrefix(in.Path, in.Feature), names)
		}
		return ns.metric(in, p.Cell, p.Metric, rest)
	default:
		if _, ok := metricOfWorkload(head); ok && len(sendable) > 0 {
			return nil, Wrong("invalid-address", "Of which workload?", "Put the workload before the metric: %s.%s.", in.Feature, strings.Join(append(sendable[:1:1], rest...), "."))
		}
		names := append(slices.Clone(sendable), "engine", "gpu", "host", plans.CommandKind)
		return nil, Wrong("invalid-address", "Unknown name in a rule", "Step %q sends %s; its rows also have engine, gpu, host and command, but no %q.%s", step.Name, lang.OrNothing(sendable), head, lang.DidYouMean(head, names)).about(AboutName)
	}
}

// another is a name other than the given one, if there is one.
func another(names []string, than string) string {
	for _, n := range names {
		if n != than {
			return n
		}
	}
	return than
}

// below is the rest of an address as written after a bracket.
func below(rest []string) string {
	if len(rest) == 0 {
		return ""
	}
	return "." + strings.Join(rest, ".")
}
