package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// workload resolves <workload>[.<cell>…].<metric>….
func (ns *Namespace) workload(in *plans.Input, rest []string, f *plans.Feature) (*plans.Input, *Error) {
	name := rest[0]
	if e := ns.plan.CommandEngine(); e != nil {
		return nil,
			Wrong("not-measured", "Workload is not measured",
				"engine.%s.%s is a command, which receives no workload. Use one of its metrics, as in "+
					"command.<metric>.gain.", e.Kind, e.Name).ofProtocol()
	}
	if sent := ns.measured[f.Protocol]; !slices.Contains(sent, name) {
		return nil,
			Wrong("not-measured", "Workload is not measured",
				"Protocol %q of feature %q sends %s in its benchmark; add workload.%s to the workloads of level "+
					"\"benchmark\".", f.Protocol, f.Name, lang.OrNothing(sent), name).ofProtocol()
	}
	in.Unsent = ns.unsent(ns.Sent[f.Protocol], f.Protocol, name)
	return ns.measurement(in, rest)
}

// measurement resolves a measurement of a workload that is sent.
func (ns *Namespace) measurement(in *plans.Input, rest []string) (*plans.Input, *Error) {
	name := rest[0]
	cells, m, rest, err := Measured(name, ns.Cells[name], rest[1:])
	if err != nil {
		return nil, err
	}
	if len(cells) != 1 {
		return nil, Wrong("invalid-address", "Which cell?",
			"Workload %q has several cells; put one of %s before the metric.", name, addresses(cells))
	}
	w := ns.Workloads[name]
	if (m.Name == "goodput" || m.Name == "slo_attainment") && len(w.SLO) == 0 {
		return nil,
			Wrong("not-measured", "Workload has no SLO",
				"%s counts requests within limits, and workload %q declares none. Add an slo block, such as ‹slo { "+
					"ttft = \"300ms\" }›.", m.Name, w.Name)
	}
	if m.OfTrace && w.Trace == nil {
		return nil,
			Wrong("not-measured", "Workload has no trace",
				"%s is of recorded traffic, and workload %q has none. Add ‹trace = \"requests.jsonl\"›, or read "+
					"another metric.", m.Name, w.Name)
	}
	switch searched := w.Capacity != nil; {
	case m.Name == "capacity" && !searched:
		return nil, Wrong("not-measured", "Capacity is not searched",
			"%s is the largest rate that keeps limits, and workload %q does not search it. Add ‹slo { ttft "+
				"= \"500ms\" }› and ‹capacity {}› to it.", m.Name, w.Name)
	case m.Name != "capacity" && searched:
		return nil, Wrong("not-measured", "Only the capacity is measured",
			"Workload %q is sent at the rates that a search for its capacity takes, which differ between launches: "+
				"%s would compare different loads. Read %s.capacity, or send another workload for %[2]s.",
			w.Name, m.Name, cells[0].Address)
	}
	return ns.metric(in, cells[0].Address, m, rest)
}

// Measured resolves the part of an address after a workload's name: elements of a cell's
// address, and a metric or the field's name for one (tg32). It returns the cells that it
// may belong to, the metric, and the rest.
func Measured(workload string, cells []plans.Cell, rest []string) ([]plans.Cell, measure.Metric, []string, *Error) {
	path := strings.Join(append([]string{workload}, rest...), ".")
	cells, rest = narrow(cells, rest)
	if len(rest) == 0 {
		return nil, measure.Metric{}, nil,
			incomplete(path+".<metric>", plans.Names(metricsOf(ofWorkload...), nameOf)...)
	}
	word := rest[0]
	// The field's names: tg32 is tg of the cell with 32 output tokens, pp2048 is pp of the
	// cell with 2048 prompt tokens.
	var named []plans.Cell
	for _, c := range cells {
		if c.Output > 0 && word == fmt.Sprintf("tg%d", c.Output) || c.Prompt > 0 &&
			word == fmt.Sprintf("pp%d", c.Prompt) {
			named = append(named, c)
		}
	}
	if len(named) > 0 {
		cells, word = named, word[:2]
	}
	m, ok := measure.LookupIn(word, ofWorkload...)
	switch {
	case ok:
		return cells, m, rest[1:], nil
	case len(cells) > 1 && word != "" && strings.ContainsAny(word[:1], "podcr") &&
		strings.Trim(word[1:], "0123456789_") == "":
		return nil, m, nil,
			Wrong("unknown-reference", "Unknown cell",
				"Workload %q has no cell %s here; it has %s. An address has all elements, in the order prompt, "+
					"output, depth, concurrency, rate.", workload, word, addresses(cells))
	}
	return nil, m, nil, unknown("unknown-metric", "Unknown metric", "A workload has no metric", word,
		plans.Names(metricsOf(ofWorkload...), nameOf))
}

// ofWorkload are the scopes of metrics in addresses below a workload: power_w is one metric
// there, and another below gpu.
var ofWorkload = []measure.Scope{measure.PerRequest, measure.PerCell}

// narrow follows the elements of a cell's address ("p512", "o32") and returns the
// remaining cells and what follows. A workload without list-valued dimensions has one
// cell, and nothing to follow.
func narrow(cells []plans.Cell, rest []string) ([]plans.Cell, []string) {
	for depth := 0; len(rest) > 0; depth++ {
		var left []plans.Cell
		for _, c := range cells {
			if dims := strings.Split(c.Address, ".")[1:]; depth < len(dims) && dims[depth] == rest[0] {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			break
		}
		cells, rest = left, rest[1:]
	}
	return cells, rest
}

func addresses(cells []plans.Cell) string {
	return listed(plans.Names(cells, func(c plans.Cell) string { return c.Address }))
}

// metric resolves what follows a metric's name, all of which may be left out: base or
// root, a statistic (the median), and a relation, as in chat.ttft.root.p99.change.
func (ns *Namespace) metric(in *plans.Input, cell string, m measure.Metric, rest []string) (*plans.Input, *Error) {
	in.Kind, in.Cell, in.Metric, in.Unit, in.Better = plans.InputMetric, cell, m.Name, m.Unit, string(m.Better)
	in.Stat, in.Of = "median", m.Unit
	arms, relations := []string{string(plans.Base), string(plans.Root)}, []string{"gain", "change", "delta"}
	take := func(words []string) (word string) {
		if len(rest) > 0 && slices.Contains(words, rest[0]) {
			word, rest = rest[0], rest[1:]
		}
		return word
	}
	arm, stat, rel := take(arms), take(m.Stats()), plans.Relation(take(relations))
	names := append(m.Stats(), relations...)
	if arm == "" {
		names = append(names, arms...)
	}
	spread := stat == "std" || stat == "cv"
	switch {
	case len(rest) > 0 && stat == "" && rel == "":
		return nil,
			Wrong("invalid-address", "Unknown statistic",
				"%q is neither a statistic nor a comparison; expected one of %s.%s", rest[0], strings.Join(names, ", "),
				lang.DidYouMean(rest[0], names))
	case len(rest) > 0:
		return nil, Wrong("invalid-address", "Unknown address",
			"Nothing follows the statistic and the comparison: remove %q.", strings.Join(rest, "."))
	case arm == string(plans.Base) && rel != "":
		return nil,
			Wrong("invalid-address", "Unknown address", "base only has statistics; write .%s without base.", rel)
	case rel == plans.Gain && (m.Better == measure.Neither || spread):
		return nil,
			Wrong("invalid-address", "No better direction",
				"%s has no better direction, so it has no gain; use .change or .delta.",
				strings.TrimSuffix(in.Path, ".gain"))
	case rel != "" && (stat == "n" || stat == "n_requests"):
		return nil, Wrong("invalid-address", "Unknown address",
			"%s is a count of launches or requests, which is not compared with another arm: remove .%s.", stat, rel)
	case m.Scope != measure.PerRequest && stat != "" && stat != "n" &&
		(stat == "n_requests" || measure.StatOf(stat).Least > 1):
		// One value per launch has neither percentiles nor a spread nor requests: such
		// a rule could never be decided.
		return nil, Wrong("invalid-address", "One value per launch",
			"A launch has one %s, so it has no %s. Write %s.%s.", m.Name, stat, lang.OrDefault(cell, "engine"), m.Name)
	}
	if arm == string(plans.Root) {
		in.Against = plans.Root
	}
	switch {
	case rel != "":
		in.Relation = rel
	case arm != "":
		in.Relation = plans.Base
	}
	if stat != "" {
		in.Stat = stat
	}
	switch {
	case in.Ratio() || stat == "cv":
		in.Unit = ""
	case stat == "n":
		in.Unit = "launches"
	case stat == "n_requests":
		in.Unit = "requests"
	}
	return in, nil
}

// ofLaunch resolves what a launch has besides the cells of its workloads: levels.<level>…,
// engine.<metric>…, gpu.<metric>…, host.<metric>… and, of a command, command.<metric>….
func (ns *Namespace) ofLaunch(in *plans.Input, rest []string, protocol string, e *plans.Engine) (*plans.Input, *Error) {
	head, cell, owner, metrics := rest[0], rest[0], rest[0], []measure.Metric(nil)
	switch {
	case head == "levels":
		return ns.level(in, rest, protocol)
	case head == "engine":
		cell, metrics = "", metricsOf(measure.PerLaunch)
	case head != plans.CommandKind:
		metrics = metricsOf(measure.Scope(head))
	case e == nil:
		return nil, Wrong("not-a-command", "Not a command", `command.* is printed by engines of kind "command"; `+
			`the baseline's engine is of another kind. Use a workload, as in chat.tg.gain.`)
	default:
		owner = "engine." + e.Kind + "." + e.Name
		for _, m := range e.CommandMetrics() {
			metrics = append(metrics, m.Metric)
		}
	}
	names := plans.Names(metrics, nameOf)
	if len(rest) < 2 {
		return nil, incomplete(head+".<metric>", names...)
	}
	at := slices.Index(names, rest[1])
	if at < 0 {
		return nil, unknown("unknown-metric", "Unknown metric", owner+" has no metric", rest[1], names)
	}
	return ns.metric(in, cell, metrics[at], rest[2:])
}

// level resolves levels.<level> and levels.<level>.<number>[.base|.root|…][.delta|.change|.gain].
func (ns *Namespace) level(in *plans.Input, rest []string, protocol string) (*plans.Input, *Error) {
	p := ns.plan.Protocol(protocol)
	names := p.LevelNames()
	if len(rest) < 2 {
		return nil, incomplete("levels.<level>", names...)
	}
	if in.Name = rest[1]; !slices.Contains(names, in.Name) {
		lacks := fmt.Sprintf("Protocol %q has no level", protocol)
		return nil, unknown("not-measured", "Level not in the protocol", lacks, in.Name, names).ofProtocol()
	}
	if len(rest) == 2 {
		return single(in, plans.InputLevel, in.Name, plans.WordInput, nil)
	}
	level := plans.Find(p.Levels, func(b *plans.Block) bool { return b.Level() == in.Name })
	n, err := resultNamed(fmt.Sprintf("Level %q", in.Name), level.Finds, rest[2])
	if err != nil {
		return nil, err
	}
	if n.Words != nil {
		in.Words = strings.Join(n.Words, ",")
		return single(in, plans.InputObserved, plans.LevelAddress(in.Name, n.Name), plans.WordInput, rest[3:])
	}
	of := measure.Metric{Name: n.Name, Unit: n.Unit, Better: measure.Better(n.Better), Scope: measure.PerLaunch}
	if in, err = ns.metric(in, "", of, rest[3:]); err != nil {
		return nil, err
	}
	if in.Kind = plans.InputFound; in.Stat != "median" {
		return nil,
			Wrong("invalid-address", "One value per launch", "A level has one %s, from its single qualification "+
				"launch, so it has no %s. Write levels.%s.%[1]s.", n.Name, in.Stat, in.Name)
	}
	return in, nil
}

// single is a word or a truth value, which nothing may follow.
func single(
	in *plans.Input, kind plans.InputKind, name string, ty plans.InputType, rest []string,
) (*plans.Input, *Error) {
	if len(rest) > 0 {
		whole := strings.TrimSuffix(in.Path, "."+strings.Join(rest, "."))
		return nil, Wrong("invalid-address", "Unknown address",
			"%s is a %s and has no members: remove %q.", whole, ty, rest[0])
	}
	in.Kind, in.Name, in.Type = kind, name, ty
	return in, nil
}

// engine resolves engine.<metric>… and engine.observed.<name>… of the engine under test.
func (ns *Namespace) engine(in *plans.Input, rest []string) (*plans.Input, *Error) {
	e := ns.plan.UnderTest()
	if len(rest) > 1 && rest[1] == "observed" {
		return ns.observed(in, rest[2:], e)
	}
	in, err := ns.ofLaunch(in, rest, "", nil)
	if err != nil {
		return nil, err
	}
	m, _ := measure.LookupIn(in.Metric, measure.PerLaunch)
	switch {
	case (in.Metric == "startup_s" || in.Metric == "first_request_s") && e.IsCommand():
		return nil,
			Wrong("unknown-metric", "Unknown metric",
				"A command never becomes ready and gets no requests, so it has no %s. Let it print its own time, and "+
					"declare that as a metric.", in.Metric)
	case !m.Observed || e == nil:
		return in, nil
	}
	if o, _, ok := plans.FindObserved(e.Observed, m.Name); ok && o.Unit == m.Unit &&
		InputType(o.Type) == plans.NumberInput {
		return in, nil
	}
	return nil,
		Wrong("not-measured", "Not observed",
			"engine.%s is reported by the engine itself, and engine.%s.%s does not observe it in %s. Add to the "+
				"engine: ‹observe %q {\nlog = \"…\"\ntype = \"number\"\nunit = %q\n}›.", m.Name, e.Kind, e.Name,
			m.Unit, m.Name, m.Unit)
}

// observed resolves engine.observed.<name>. A word or a truth value is one value; a
// number is a metric of the launch, and differs between launches.
func (ns *Namespace) observed(in *plans.Input, rest []string, e *plans.Engine) (*plans.Input, *Error) {
	if e == nil {
		return nil, Wrong("unknown-reference", "Unknown observation",
			"engine.observed reads observations of the baseline's engine, but the plan has no baseline.")
	}
	names := plans.Names(e.Observed, func(o plans.Observed) string { return o.Name })
	if len(rest) < 1 {
		return nil, incomplete("engine.observed.<name>", names...)
	}
	at := slices.Index(names, rest[0])
	if at < 0 {
		lacks := "engine." + e.Kind + "." + e.Name + " has no observation"
		err := unknown("unknown-reference", "Unknown observation", lacks, rest[0], names)
		err.Detail += fmt.Sprintf(" To observe it, add to the engine: ‹observe %q { log = \"…\" }›.", rest[0])
		return nil, err
	}
	o := e.Observed[at]
	if ty := InputType(o.Type); ty != plans.NumberInput {
		return single(in, plans.InputObserved, o.Name, ty, rest[1:])
	}
	return ns.metric(in, "", measure.Metric{Name: "observed." + o.Name, Unit: o.Unit, Scope: measure.PerLaunch},
		rest[1:])
}

// target resolves target.<name>.<workload>[.<cell>].<metric>.
func (ns *Namespace) target(in *plans.Input, path []string, _ *Scope) (*plans.Input, *Error) {
	if len(path) < 4 {
		return nil, incomplete("target.<name>.<workload>[.<cell>].<metric>")
	}
	t := plans.Find(ns.plan.Targets, func(t *plans.Target) bool { return t.Name == path[1] })
	if t == nil {
		names := plans.Names(ns.plan.Targets, func(t *plans.Target) string { return t.Name })
		err := unknown("unknown-reference", "Unknown target", "The plan has no target", path[1], names)
		if len(names) == 0 {
			err.Detail += " Declare numbers to beat in ‹target \"name\" { … }›."
		}
		return nil, err
	}
	of, metric := strings.Join(path[2:len(path)-1], "."), path[len(path)-1]
	v, ok := t.Metrics[of][metric]
	switch {
	case !ok:
		var numbers []string
		for of, metrics := range sorted.All(t.Metrics) {
			for metric := range sorted.All(metrics) {
				numbers = append(numbers, of+"."+metric)
			}
		}
		lacks := fmt.Sprintf("Target %q has no number", t.Name)
		return nil, unknown("invalid-address", "Unknown number", lacks, of+"."+metric, numbers)
	case math.IsInf(v, 0) || math.IsNaN(v):
		return nil, Wrong("rule-type", "Not a number", "Target %q has no finite %s.%s.", t.Name, of, metric)
	}
	in.Kind, in.Name, in.Number = plans.InputTarget, t.Name, v
	_, m, _, err := Measured(path[2], ns.Cells[path[2]], path[3:])
	if path[2] == plans.CommandKind {
		p, _, _ := plans.FindCommandMetric(ns.plan.CommandEngine().CommandMetrics(), path[3])
		m, err = p.Metric, nil
	}
	if err == nil {
		in.Unit, in.Better = m.Unit, string(m.Better)
	}
	return in, nil
}

// InputType is the type that a rule sees of an observation.
func InputType(ty string) plans.InputType {
	switch ty {
	case "string":
		return plans.WordInput
	case "bool":
		return plans.BoolInput
	}
	return plans.NumberInput
}

// imported resolves imported.<name>.<cell>.<metric>[.<stat>].
func (ns *Namespace) imported(in *plans.Input, path []string, _ *Scope) (*plans.Input, *Error) {
	const form = "imported.<name>.<cell>.<metric>.<stat>"
	if len(path) < 4 || len(path) > 5 {
		return nil, incomplete(form + "; `mxflow import` lists them")
	}
	i := plans.Find(ns.plan.Imported, func(i *plans.Imported) bool { return i.Name == path[1] && i.Result != nil })
	if i == nil {
		names := plans.Names(ns.plan.Imported, func(i *plans.Imported) string { return i.Name })
		return nil, unknown("unknown-reference", "Unknown imported", "The plan has no imported", path[1], names)
	}
	given := path[2] + "." + path[3]
	m, ok := i.Result.Lookup(path[2], path[3])
	if !ok {
		var names []string
		for _, c := range i.Result.Cells {
			for _, m := range c.Metrics {
				names = append(names, c.Name+"."+m.Name)
			}
		}
		return nil, unknown("invalid-address", "Unknown number", i.File+" has no number", given, names)
	}
	stats := m.StatNames()
	stat := stats[0]
	switch {
	case len(path) == 5:
		stat = path[4]
	case len(stats) > 1:
		return nil, incomplete(in.Path+".<stat>", stats...)
	}
	v, ok := m.Stats[stat]
	if !ok {
		return nil, unknown("invalid-address", "Unknown number", given+" of "+i.File+" has no number", stat, stats)
	}
	in.Kind, in.Block, in.Name, in.Number, in.Unit, in.Better = plans.InputTarget, "imported", i.Name, v, m.Unit,
		string(m.Better)
	in.Invalid = foreign.Line(m.Invalid)
	if stat == "cv" {
		in.Unit = ""
	}
	return in, nil
}

const mostListed = 12

// listed joins the first few of many names.
func listed(names []string) string {
	if len(names) > mostListed {
		return strings.Join(names[:mostListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// unsent explains why no launch of a protocol or comparison has a workload; nil if it is
// sent.
func (ns *Namespace) unsent(sent []string, protocol, workload string) *plans.SuiteGap {
	if slices.Contains(sent, workload) {
		return nil
	}
	u := &plans.SuiteGap{Workload: workload, Suite: ns.plan.Suite, Protocol: protocol}
	for _, s := range ns.plan.Suites {
		if u.Suite == "" && slices.Contains(s.Workloads, workload) {
			u.Suites = append(u.Suites, "--suite "+s.Name)
		}
	}
	return u
}

// metricsOf are the metrics of scopes, in the order of the catalogue.
func metricsOf(scopes ...measure.Scope) (metrics []measure.Metric) {
	for _, scope := range scopes {
		for _, m := range measure.Catalogue() {
			if m.Scope == scope {
				metrics = append(metrics, m)
			}
		}
	}
	return metrics
}

func nameOf(m measure.Metric) string { return m.Name }
