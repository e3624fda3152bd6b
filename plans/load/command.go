package load

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

// targetNote is a number to beat, with what and which metric it is for: whether these
// exist is known only when all engines and workloads are decoded.
type targetNote struct {
	target     *plans.Target
	of, metric string
	at         hcl.Range
}

// checkCommands checks what a protocol must have for the engine that goes
// through it: a server needs workloads, and a command brings its own.
func (l *loader) checkCommands() {
	e := l.plan.CommandEngine()
	l.checkTargets(e)
	for _, p := range l.plan.Protocols {
		goesThrough := func(n *featureNotes) bool { return n.feature.Protocol == p.Name }
		under := e != nil && (l.plan.Baseline.Protocol == p.Name || slices.ContainsFunc(l.order, goesThrough))
		for _, b := range p.Levels {
			if !under || !l.reg.Levels[b.Kind].Asks {
				continue
			}
			l.Fail(lang.HCL(b.Range), "command-is-no-server", "Prompt for a command",
				"engine.%s.%s is a command, which answers no prompt. Remove this level: a command is qualified by "+
					"one run, which must end with status 0 and print every metric.", e.Kind, e.Name)
		}
		b := p.Level(plans.BenchmarkLevel)
		if b == nil {
			continue
		}
		sent := len(plans.AnyList(b.Attrs["workloads"])) > 0 || b.Attrs["suite"] != nil
		switch {
		case under && sent:
			l.Fail(lang.HCL(b.Range), "command-is-no-server", "Workloads for a command",
				"engine.%s.%s is a command, which brings its own work. Remove workloads and suite; its metric blocks "+
					"read its output.", e.Kind, e.Name)
		case !under && !sent:
			if b.Written["workloads"] || b.Written["suite"] {
				continue // what is wrong with it has been reported
			}
			l.protocolsInDoubt = true
			l.Fail(lang.HCL(b.Range), "missing-attribute", "Missing workloads",
				`level "benchmark" needs workloads: what is sent, as in ‹workloads = [workload.chat]›. Only an engine of kind "command" brings its own.`)
		}
	}
}

// checkFits checks that the engines which go through a protocol can do what its levels
// need.
func (l *loader) checkFits() {
	under := map[string]map[string]bool{}
	add := func(protocol, engine string) {
		if engine == "" && l.plan.Baseline != nil {
			engine = l.plan.Baseline.Engine
		}
		if under[protocol] == nil {
			under[protocol] = map[string]bool{}
		}
		under[protocol][engine] = true
	}
	if l.plan.Baseline != nil {
		add(l.plan.Baseline.Protocol, "")
	}
	for _, f := range l.plan.Candidates() {
		add(f.Protocol, f.Engine)
	}
	for _, ph := range l.plan.Phases {
		for _, b := range ph.Steps {
			compared := plans.ComparisonContent{}
			if b.Kind != plans.CompareStep && b.Kind != plans.MatrixStep || b.Decode(&compared) != nil {
				continue
			}
			if b.Kind == plans.MatrixStep && l.plan.Baseline != nil {
				compared.Engines = []string{l.plan.Baseline.Engine}
			}
			for _, engine := range compared.Engines {
				add(compared.Protocol, engine)
			}
			l.checkQualifies(b, compared)
		}
	}
	for _, p := range l.plan.Protocols {
		for _, b := range p.Levels {
			fits := l.reg.Levels[b.Kind].Fits
			for _, key := range lang.KeysOf(under[p.Name]) {
				e := l.plan.Engine(key)
				if fits == nil || e == nil || e.IsCommand() {
					continue
				}
				for _, wrong := range fits(b, e) {
					l.Fail(lang.HCL(b.Range), wrong.Code, wrong.Summary, "%s", wrong.Detail)
				}
			}
		}
	}
}

// checkQualifies refuses a protocol that cannot qualify the servers of a comparison: one
// that only measures, or that compares their answers with a command's.
func (l *loader) checkQualifies(b *plans.Block, compared plans.ComparisonContent) {
	p, reference := l.plan.Protocol(compared.Protocol), l.plan.Engine(compared.Reference)
	server := slices.ContainsFunc(compared.Engines, func(key string) bool {
		e := l.plan.Engine(key)
		return e != nil && !e.IsCommand()
	})
	if p == nil || !server {
		return
	}
	qualifies := slices.ContainsFunc(p.Levels, func(level *plans.Block) bool {
		// Rows of a compare have no knobs, so no kernels to prove.
		return level.Kind != plans.BenchmarkLevel && (level.Kind != "kernels" || b.Kind == plans.MatrixStep)
	})
	if !qualifies {
		l.Fail(lang.HCL(b.Range), "comparison-of-engines", "Nothing qualifies",
			"No level of protocol %q shows that these engines answer sensibly, so no row would be measured. Add one "+
				"before the benchmark: ‹level \"smoke\" { … }›.", p.Name)
	}
	for _, name := range l.plan.Sendable(b) {
		if w := l.plan.Workload(name); b.Kind == plans.CompareStep && w != nil && w.Capacity != nil {
			l.Fail(lang.HCL(b.Range), "comparison-of-engines", "Capacity of several engines",
				"Workload %q searches its capacity, by as many requests as an engine can take, but compared engines "+
					"are sent the same prompts. Send a workload with rates, as ‹rate = [1, 2, 4]›, or compare two "+
					"commands: mxflow ab --metric capacity.", name)
		}
	}
	for _, level := range p.Levels {
		if reference != nil && reference.IsCommand() && l.reg.Levels[level.Kind].Against {
			l.Fail(lang.HCL(b.Range), "command-is-no-server", "Command as a reference",
				"engine.%s is a command, which gives no answers, but level %q of protocol %q compares those of the "+
					"other rows with them. Name a server as reference, or a protocol without that level.",
				compared.Reference, level.Level(), p.Name)
		}
	}
}

// checkTargets checks numbers to beat against the cells, or the metrics of the command,
// that must beat them, and notes the addresses of those.
func (l *loader) checkTargets(e *plans.Engine) {
	for _, t := range l.targets {
		if measure.OfCommand(t.of) {
			if e == nil {
				l.Fail(t.at, "not-a-command", "Not a command",
					`Numbers under "command" are for an engine of kind "command", and the baseline's engine is not one. Name a workload.`)
			} else if _, names, ok := plans.FindCommandMetric(e.CommandMetrics(), t.metric); !ok {
				l.Fail(t.at, "unknown-metric", "Unknown metric", "engine.%s.%s declares no metric %q.%s", e.Kind,
					e.Name, t.metric, lang.Suggest(t.metric, names))
			}
			continue
		}
		number := t.of + "." + t.metric
		path := append(strings.Split(t.of, "."), t.metric)
		w := l.plan.Workload(path[0])
		if w == nil {
			continue // reported
		}
		cells, m, rest, err := rules.Measured(w.Name, w.Cells(), path[1:])
		switch {
		case err != nil:
			l.Fail(t.at, err.Code, err.Summary, "%s", err.Detail)
		case len(rest) > 0:
			l.Fail(t.at, "invalid-address", "Unknown address",
				"A target has one number per metric. Write ‹%s = { %s = … }›.", t.of, m.Name)
		}
		for _, cell := range cells {
			t.target.Measured[number] = append(t.target.Measured[number], cell.Address+"."+m.Name)
		}
	}
}
