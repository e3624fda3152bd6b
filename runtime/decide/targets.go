package decide

import (
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Targets are the plan's numbers to beat, as a run records them: each with the address
// that it is compared with. If a workload has several cells, and for results of other
// tools, whose names have their own meaning, that is what the plan's own rules compare it
// with; nothing is paired by name alone.
func Targets(p *plans.Plan) (all []ledger.Target) {
	compared := comparedTargets(p)
	for _, t := range p.Targets {
		for _, workload := range slices.Sorted(maps.Keys(t.Metrics)) {
			for _, metric := range slices.Sorted(maps.Keys(t.Metrics[workload])) {
				one := ledger.Target{
					Name: t.Name, Tool: t.Tool, Path: strings.Join([]string{"target", t.Name, workload, metric}, "."),
					Value: t.Metrics[workload][metric],
				}
				all = append(all,
					declared(p, one, workload, metric, t.Measured[workload+"."+metric], compared[one.Path])...)
			}
		}
	}
	for _, i := range p.Imported {
		one := ledger.Target{Name: "imported." + i.Name, Path: "imported." + i.Name}
		if i.Result != nil {
			one.Tool = strings.TrimSpace(i.Result.Tool + " " + i.Result.Version)
		}
		found := false
		for _, path := range slices.Sorted(maps.Keys(compared)) {
			if strings.HasPrefix(path, one.Path+".") {
				all, found = append(all, withComparedAddresses(p, one, compared[path])...), true
			}
		}
		if !found {
			one.Why = verdict.Say("target.names_alone",
				"no rule compares it with a measurement, and its name alone does not say which number it matches")
			all = append(all, one)
		}
	}
	return all
}

// declared is a number of a target block: for the only cell that it can be of, or for
// those that rules compare it with.
func declared(p *plans.Plan, one ledger.Target, of, metric string, measured []string,
	compared []comparedTarget,
) []ledger.Target {
	switch {
	case len(compared) == 0 && measure.OfCommand(of) && p.Baseline != nil:
		return []ledger.Target{ofCommand(p.Engine(p.Baseline.Engine), one, of+"."+metric)}
	case len(compared) > 0 || len(measured) == 0:
		return withComparedAddresses(p, one, compared)
	}
	cell, name := measure.SplitAddress(measured[0])
	if m, ok := measure.LookupIn(name, measure.PerRequest, measure.PerCell); ok {
		one.Unit, one.Better = m.Unit, string(m.Better)
	}
	if len(measured) == 1 {
		one.Address, one.Stat, one.Sent = measured[0], "median", sentIn(p, cell)
	} else {
		one.Why = verdict.Say("target.of_cells",
			"{subject} has {cells} cells, and neither the target nor a rule says which one this number is for",
			verdict.Int("cells", len(measured))).On(of)
	}
	return []ledger.Target{one}
}

// ofCommand is a number that an engine of kind command also prints.
func ofCommand(e *plans.Engine, one ledger.Target, address string) ledger.Target {
	one.Why = verdict.Say("target.not_printed", "the baseline's engine is not a command that prints it")
	for _, p := range e.CommandMetrics() {
		if p.Address() == address {
			one.Unit, one.Better, one.Address, one.Stat, one.Why = p.Unit, string(p.Better), address, "median",
				verdict.Reason{}
		}
	}
	return one
}

// withComparedAddresses is a number with each address that rules compare it with.
func withComparedAddresses(p *plans.Plan, one ledger.Target, compared []comparedTarget) (all []ledger.Target) {
	for _, c := range compared {
		t := one
		t.Path, t.Value, t.Unit, t.Better = c.target.Path, c.target.Number, c.metric.Unit, c.metric.Better
		t.Address, t.Stat, t.Sent = c.metric.LaunchAddress(), c.metric.Stat, sentIn(p, c.metric.Cell)
		same := func(other ledger.Target) bool {
			return other.Path == t.Path && other.Address == t.Address && other.Stat == t.Stat
		}
		if !slices.ContainsFunc(all, same) {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		one.Why = verdict.Say("target.uncompared", "no rule compares it with a measurement")
		all = append(all, one)
	}
	return all
}

// sentIn is what the plan sends in a cell; nil if it is not a cell.
func sentIn(p *plans.Plan, address string) *measure.Dimensions {
	for _, w := range p.Workloads {
		for _, c := range w.Cells() {
			if c.Address == address {
				return &c.Dimensions
			}
		}
	}
	return nil
}

// comparedTarget is a number to beat and what a rule compares it with.
type comparedTarget struct{ target, metric *plans.Input }

// comparedTargets returns, by the path of a number to beat, the candidate's measurements
// that a comparison relates to it alone, in the order of the rules.
func comparedTargets(p *plans.Plan) map[string][]comparedTarget {
	all := map[string][]comparedTarget{}
	for _, r := range rulesOf(p) {
		for _, compare := range r.Compares() {
			inputs := compare.Inputs()
			if len(inputs) != 2 {
				continue
			}
			c := comparedTarget{inputs[0], inputs[1]}
			if c.target.Kind != plans.InputTarget {
				c = comparedTarget{c.metric, c.target}
			}
			if c.target.Kind == plans.InputTarget && c.metric.Kind == plans.InputMetric &&
				c.metric.Relation == plans.Own {
				all[c.target.Path] = append(all[c.target.Path], c)
			}
		}
	}
	return all
}

// rulesOf returns the criteria and the gates' rules of a plan, in its order.
func rulesOf(p *plans.Plan) (rules []*plans.Rule) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			rules = append(rules, f.Criteria...)
			for _, other := range slices.Concat(f.Alternatives, f.Confirm) {
				rules = append(rules, other.Criteria...)
			}
		}
		if ph.Gate != nil {
			rules = append(rules, ph.Gate.Rules...)
		}
	}
	return rules
}
