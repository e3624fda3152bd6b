package plans

import (
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

func (ns *namespace) property(in *Input, rest []string, f *Feature) (*Input, *ruleError) {
	if !strings.HasPrefix(in.Path, "feature[") {
		return nil, wrong("Whose value?", "Write feature[%q].%s.", f.Name, rest[0])
	}
	if len(rest) > 1 {
		return nil, wrong("Unknown address", "%s has no member %q.", rest[0], rest[1])
	}
	in.Kind, in.Name, in.Type = InputFeature, rest[0], BoolInput
	if rest[0] == "verdict" {
		in.Type = WordInput
	}
	return in, nil
}

func (ns *namespace) level(in *Input, rest []string, f *Feature) (*Input, *ruleError) {
	p := ns.plan.Protocol(f.Protocol)
	var names []string
	if p != nil {
		for _, l := range p.Levels {
			names = append(names, l.Kind)
		}
	}
	if len(rest) != 2 {
		return nil, wrong("Incomplete address", "Write levels.<level>, with one of %s.", strings.Join(names, ", "))
	}
	if !slices.Contains(names, rest[1]) {
		return nil, wrong("Level not in the protocol", "Protocol %q of feature %q has the levels %s.%s", f.Protocol, f.Name, strings.Join(names, ", "), didYouMean(rest[1], names))
	}
	in.Kind, in.Name, in.Type = InputLevel, rest[1], WordInput
	return in, nil
}

func (ns *namespace) knob(in *Input, rest []string) (*Input, *ruleError) {
	if len(rest) != 2 || ns.knobs[rest[1]] == nil {
		return nil, wrong("Unknown knob", "Write knob.<name>, with one of %s.", strings.Join(keysOf(ns.knobs), ", "))
	}
	in.Kind, in.Name, in.Type = InputKnob, rest[1], WordInput
	return in, nil
}

func (ns *namespace) engine(in *Input, rest []string) (*Input, *ruleError) {
	if len(rest) < 2 {
		return nil, wrong("Incomplete address", "Write engine.<metric>, with one of %s.", strings.Join(metricNames(measure.PerLaunch), ", "))
	}
	if rest[1] == "observed" {
		return ns.observed(in, rest[2:])
	}
	m, ok := measure.LookupIn(rest[1], measure.PerLaunch)
	if !ok {
		return nil, wrong("Unknown metric", "engine.* has no metric %q.%s", rest[1], suggestMetric(rest[1], append(metricNames(measure.PerLaunch), "observed")))
	}
	if (m.Name == "startup_s" || m.Name == "first_request_s") && ns.plan.commandEngine() != nil {
		return nil, wrong("Unknown metric", "A command does not become ready and is asked nothing, so it has no %s. Let it print the time that it needs, and declare it as a metric.", m.Name)
	}
	if err := ns.unobserved(m); err != nil {
		return nil, err
	}
	return ns.metric(in, "", m, rest[2:])
}

// machine resolves gpu.<metric>… and host.<metric>….
func (ns *namespace) machine(in *Input, rest []string, scope measure.Scope) (*Input, *ruleError) {
	names := metricNames(scope)
	if len(rest) < 2 {
		return nil, wrong("Incomplete address", "Write %s.<metric>, with one of %s.", rest[0], strings.Join(names, ", "))
	}
	m, ok := measure.LookupIn(rest[1], scope)
	if !ok {
		return nil, wrong("Unknown metric", "%s.* has no metric %q.%s", rest[0], rest[1], suggestMetric(rest[1], names))
	}
	return ns.metric(in, rest[0], m, rest[2:])
}

func (ns *namespace) target(in *Input, path []string) (*Input, *ruleError) {
	if len(path) != 4 {
		return nil, wrong("Incomplete address", "Write target.<name>.<workload>.<metric>.")
	}
	for _, t := range ns.plan.Targets {
		if t.Name != path[1] {
			continue
		}
		v, ok := t.Metrics[path[2]][path[3]]
		if !ok {
			return nil, wrong("Target has no such number", "Target %q declares no %s.%s.", t.Name, path[2], path[3])
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, wrong("Not a number", "Target %q has no finite %s.%s.", t.Name, path[2], path[3])
		}
		in.Kind, in.Name, in.Number = InputTarget, t.Name, v
		m, ok := metricOfWorkload(path[3])
		if path[2] == commandKind {
			m, _, ok = metricOf(ns.plan.commandEngine().CommandMetrics(), path[3])
		}
		if ok {
			in.Unit, in.Better = m.Unit, string(m.Better)
		}
		return in, nil
	}
	var names []string
	for _, t := range ns.plan.Targets {
		names = append(names, t.Name)
	}
	hint := didYouMean(path[1], names)
	switch {
	case len(names) == 0:
		hint = " The plan declares none: target \"name\" { … } holds numbers to beat."
	case hint == "":
		hint = " There is " + orList(names) + "."
	}
	return nil, wrong("Unknown target", "There is no target %q.%s", path[1], hint)
}
