package plans

import (
	"github.com/mxflow/mxflow/engine/measure"
)

// commandKind is the kind of engine that is a script: it brings its own work,
// and its metrics are those that the plan takes out of its output.
const commandKind = "command"

// IsCommand reports whether an engine is a command that ends by itself, not a
// server.
func (e *Engine) IsCommand() bool { return e != nil && e.Kind == commandKind }

// CommandMetric is a metric that a plan declares, in the catalogue's terms:
// better is "higher", "lower" or anything else for neither.
func CommandMetric(name, unit, better string) measure.Metric {
	m := measure.Metric{Name: name, Unit: unit, Scope: measure.PerRequest, Evidence: "output of the command", Definition: "as the plan's jq expression takes it out of the output"}
	if b := measure.Better(better); b == measure.Higher || b == measure.Lower {
		m.Better = b
	}
	return m
}

// CommandMetrics are the metrics that an engine of kind command declares, in the
// order of the plan.
func (e *Engine) CommandMetrics() (list []measure.Metric) {
	if !e.IsCommand() {
		return nil
	}
	for _, b := range e.Parts["metric"] {
		unit, _ := b.Attrs["unit"].(string)
		better, _ := b.Attrs["better"].(string)
		list = append(list, CommandMetric(b.Name, unit, better))
	}
	return list
}

// commandEngine is the plan's engine under test where it is a command; nil where
// it is a server, or there is none.
func (p *Plan) commandEngine() *Engine {
	if p.Baseline == nil {
		return nil
	}
	if e := p.Engine(p.Baseline.Engine); e.IsCommand() {
		return e
	}
	return nil
}

func metricOf(list []measure.Metric, name string) (measure.Metric, []string, bool) {
	var names []string
	for _, m := range list {
		if m.Name == name {
			return m, nil, true
		}
		names = append(names, m.Name)
	}
	return measure.Metric{}, names, false
}

// command resolves command.<metric>….
func (ns *namespace) command(in *Input, rest []string) (*Input, *ruleError) {
	e := ns.plan.commandEngine()
	if e == nil {
		return nil, wrong("Not a command", `command.* is what an engine of kind "command" prints, and the baseline's engine is none. Read a workload, as in chat.tg.gain.`)
	}
	if len(rest) < 2 {
		return nil, wrong("Incomplete address", "Name a metric of engine.%s.%s: command.<metric>.", e.Kind, e.Name)
	}
	m, names, ok := metricOf(e.CommandMetrics(), rest[1])
	if !ok {
		return nil, wrong("Unknown metric", "engine.%s.%s declares no metric %q.%s", e.Kind, e.Name, rest[1], suggest(rest[1], names))
	}
	return ns.metric(in, commandKind, m, rest[2:])
}

// suggest is didYouMean, or all there is where no name is close.
func suggest(given string, names []string) string {
	if hint := didYouMean(given, names); hint != "" || len(names) == 0 {
		return hint
	}
	return " There is " + orList(names[:min(len(names), 12)]) + "."
}

// leastOf is what numbers a metric of the command can be: none below its min.
func (e *Engine) leastOf(metric string) interval {
	if !e.IsCommand() {
		return everything
	}
	for _, b := range e.Parts["metric"] {
		if least, ok := b.Attrs["min"].(float64); ok && b.Name == metric {
			return interval{low: least, high: everything.high}
		}
	}
	return everything
}
