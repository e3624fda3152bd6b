package plans

import "github.com/hashicorp/hcl/v2"

// targetNote is a number to beat of a command's metric: which metrics there are
// is known only when all engines are decoded.
type targetNote struct {
	metric string
	at     hcl.Range
}

// checkCommands checks what a protocol must have for the engine that goes
// through it: a server needs workloads, and a command brings its own.
func (l *loader) checkCommands() {
	e := l.plan.commandEngine()
	l.checkCommandTargets(e)
	under := map[string]bool{}
	if e != nil {
		under[l.plan.Baseline.Protocol] = true
		for _, n := range l.checks.order {
			under[n.feature.Protocol] = true
		}
	}
	for _, p := range l.plan.Protocols {
		if b := p.Level("smoke"); b != nil && under[p.Name] {
			l.fail(b.Range.hcl(), "Smoke of a command", "engine.%s.%s is a command, which answers no prompt. Remove this level: a command is qualified by running it once, which has to end with status 0 and print every metric.", e.Kind, e.Name)
		}
		b := p.Level(BenchmarkLevel)
		if b == nil || !l.workloadsDepend() {
			continue
		}
		sent := len(anyList(b.Attrs["workloads"])) > 0 || b.Attrs["suite"] != nil
		switch {
		case under[p.Name] && sent:
			l.fail(b.Range.hcl(), "Workloads for a command", "engine.%s.%s is a command, which brings its own work. Remove workloads and suite; what it prints is measured by its metric blocks.", e.Kind, e.Name)
		case !under[p.Name] && !sent:
			if b.Written["workloads"] || b.Written["suite"] {
				continue // what is wrong with it has been reported
			}
			l.protocolsInDoubt = true
			l.fail(b.Range.hcl(), "Missing workloads", `level "benchmark" needs workloads: what is sent, as in workloads = [workload.chat]. Only an engine of kind "command" brings its own.`)
		}
	}
}

// workloadsDepend reports whether the registry leaves it to the engine whether a
// benchmark has workloads.
func (l *loader) workloadsDepend() bool {
	for _, a := range l.reg.Levels[BenchmarkLevel].Attrs {
		if a.Name == "workloads" {
			return !a.Required
		}
	}
	return false
}

// checkCommandTargets checks numbers to beat against the metrics of the command
// that has to beat them.
func (l *loader) checkCommandTargets(e *Engine) {
	for _, t := range l.checks.targets {
		if e == nil {
			l.fail(t.at, "Not a command", `Numbers under "command" are for an engine of kind "command", and the baseline's engine is none. Name a workload.`)
			continue
		}
		if _, names, ok := metricOf(e.CommandMetrics(), t.metric); !ok {
			l.fail(t.at, "Unknown metric", "engine.%s.%s declares no metric %q.%s", e.Kind, e.Name, t.metric, suggest(t.metric, names))
		}
	}
}

// qualified warns of a protocol with which a variant is measured although
// nothing was asked of it before. It may be meant so: garbage that is faster is
// noticed in the benchmark, a kernel path that was not taken is not.
func (c *planCheck) qualified() {
	if len(c.features()) == 0 || c.plan.commandEngine() != nil {
		return
	}
	used := map[string]bool{}
	if c.plan.Baseline != nil {
		used[c.plan.Baseline.Protocol] = true
	}
	for _, f := range c.features() {
		used[f.Protocol] = true
	}
	for _, p := range c.plan.Protocols {
		if used[p.Name] && len(p.Levels) == 1 && p.Level(BenchmarkLevel) != nil && !c.included(p.Range) {
			c.warn(p.Range, "Nothing is qualified", "Protocol %q only measures, so every variant passes as qualified although nothing shows that it answers sensibly or that its knobs took effect. Add levels before the benchmark: level \"smoke\" { … } and level \"kernels\" {}.", p.Name)
		}
	}
}
