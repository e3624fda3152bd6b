package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// workload resolves <workload>[.<cell>…].<metric>….
func (ns *Namespace) workload(in *plans.Input, rest []string, f *plans.Feature) (*plans.Input, *Error) {
	name := rest[0]
	if e := ns.plan.CommandEngine(); e != nil {
		return nil, Wrong("not-measured", "Workload is not measured", "engine.%s.%s is a command, which receives no workload. Use one of its metrics, as in command.<metric>.gain.", e.Kind, e.Name).about(AboutProtocol)
	}
	if sent := ns.measured[f.Protocol]; !slices.Contains(sent, name) {
		return nil, Wrong("not-measured", "Workload is not measured", "Protocol %q of feature %q sends %s in its benchmark; add workload.%s to the workloads of level \"benchmark\".", f.Protocol, f.Name, lang.OrNothing(sent), name).about(AboutProtocol)
	}
	in.Unsent = ns.unsent(ns.Sent[f.Protocol], f.Protocol, name)
	return ns.ofWorkload(in, rest)
}

// ofWorkload resolves a measurement of a workload that is sent.
func (ns *Namespace) ofWorkload(in *plans.Input, rest []string) (*plans.Input, *Error) {
	name := rest[0]
	cells, m, rest, err := Measured(name, ns.Cells[name], rest[1:])
	if err != nil {
		return nil, err
	}
	if len(cells) != 1 {
		return nil, Wrong("invalid-address", "Which cell?", "Workload %q has several cells; put one of %s before the metric.", name, addresses(cells))
	}
	if err := lacks(ns.Workloads[name], m); err != nil {
		return nil, err
	}
	return ns.metric(in, cells[0].Address, m, rest)
}

// Measured resolves what follows a workload's name in an address: elements of a cell's
// address, and a metric or the field's name for one (tg32). It returns the cells that it
// may belong to, the metric, and what follows it.
func Measured(workload string, cells []plans.Cell, rest []string) ([]plans.Cell, measure.Metric, []string, *Error) {
	path := strings.Join(append([]string{workload}, rest...), ".")
	cells, rest = narrow(cells, rest)
	if len(rest) == 0 {
		return nil, measure.Metric{}, nil, Wrong("invalid-address", "Incomplete address", "Name a metric: %s.tg, %s.ttft, ….", path, path)
	}
	word := rest[0]
	if named := byFieldName(cells, word); len(named) > 0 {
		cells, word = named, word[:2]
	}
	m, ok := metricOfWorkload(word)
	if !ok {
		return nil, m, nil, notAMetric(workload, word, cells)
	}
	return cells, m, rest[1:], nil
}

// lacks refuses a metric that needs something that the workload does not set.
func lacks(w *plans.Workload, m measure.Metric) *Error {
	switch m.Name {
	case "goodput", "slo_attainment":
		if len(w.SLO) == 0 {
			return Wrong("not-measured", "Workload has no SLO", "%s counts requests within limits, and workload %q declares none. Add an slo block, such as slo { ttft = \"300ms\" }, on separate lines.", m.Name, w.Name)
		}
	case "ttft_corrected", "pp_corrected":
		if w.LatencyCorrection == "none" {
			return Wrong("not-measured", "No latency correction", "Workload %q has no latency correction, so it has no %s. Use %s, or set latency_correction.", w.Name, m.Name, strings.TrimSuffix(m.Name, "_corrected"))
		}
	}
	return nil
}

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

// byFieldName are the cells that the field's name for a metric leads to: tg32 is tg of
// the cell with 32 output tokens, pp2048 is pp of the cell with 2048 prompt tokens.
func byFieldName(cells []plans.Cell, word string) (named []plans.Cell) {
	for _, c := range cells {
		if c.Output > 0 && word == fmt.Sprintf("tg%d", c.Output) || c.Prompt > 0 && word == fmt.Sprintf("pp%d", c.Prompt) {
			named = append(named, c)
		}
	}
	return named
}

// notAMetric refuses an element that is neither cell nor metric.
func notAMetric(workload, word string, cells []plans.Cell) *Error {
	if len(cells) > 1 && word != "" && strings.ContainsAny(word[:1], "podcr") && strings.Trim(word[1:], "0123456789_") == "" {
		hint := ""
		if elementOf(cells, word) {
			hint = " Write all elements, in the order prompt, output, depth, concurrency, rate."
		}
		return Wrong("unknown-reference", "Unknown cell", "Workload %q has no cell %s here; it has %s.%s", workload, word, addresses(cells), hint)
	}
	return Wrong("unknown-metric", "Unknown metric", "%q is not a metric of a workload.%s", word, suggestMetric(word, workloadMetrics()))
}

// elementOf reports whether one of the cells has an element in its address.
func elementOf(cells []plans.Cell, word string) bool {
	for _, c := range cells {
		if slices.Contains(strings.Split(c.Address, ".")[1:], word) {
			return true
		}
	}
	return false
}

func addresses(cells []plans.Cell) string {
	return listed(plans.Names(cells, func(c plans.Cell) string { return c.Address }))
}

// metric resolves what follows a metric's name: a statistic, a relation, or
// nothing, which is the median.
func (ns *Namespace) metric(in *plans.Input, cell string, m measure.Metric, rest []string) (*plans.Input, *Error) {
	in.Kind, in.Cell, in.Metric, in.Unit, in.Better = plans.InputMetric, cell, m.Name, m.Unit, string(m.Better)
	in.Stat, in.Of = "median", m.Unit
	if len(rest) > 0 {
		root := rest[0] == string(plans.Root)
		if root {
			in.Against = plans.Root
		}
		if root || rest[0] == string(plans.Base) {
			in.Relation, rest = plans.Base, rest[1:] // until a comparison says otherwise
		}
	}
	if len(rest) == 0 {
		return in, nil
	}
	word := rest[0]
	compares := word == "gain" || word == "change" || word == "delta"
	switch {
	case !compares && !measure.IsStat(word):
		names := append(measure.Stats(), "gain", "change", "delta")
		if in.Relation != plans.Base {
			names = append(names, "base", string(plans.Root))
		}
		return nil, Wrong("invalid-address", "Unknown statistic", "%q is neither a statistic nor a comparison; expected one of %s.%s", word, strings.Join(names, ", "), lang.DidYouMean(word, names))
	case len(rest) > 1 && !compares && word != "median" && in.Relation != plans.Base && slices.Contains([]string{"gain", "change", "delta"}, rest[1]):
		return nil, statisticOfBoth(in.Path, m, word, rest[1])
	case len(rest) > 1:
		return nil, Wrong("invalid-address", "Unknown address", "%q has no members: remove %q.", word, strings.Join(rest[1:], "."))
	case compares:
		return ns.relation(in, m, plans.Relation(word))
	}
	return ns.statistic(in, m, word)
}

// statisticOfBoth refuses chat.ttft.p95.gain, and suggests an equivalent.
func statisticOfBoth(path string, m measure.Metric, stat, relation string) *Error {
	stem := strings.TrimSuffix(path, "."+stat+"."+relation)
	op := ">="
	if m.Better == measure.Lower {
		op = "<="
	}
	return Wrong("invalid-address", "Unknown address", "%q has no members. Compare it with the base's: %s.%s %s 1.05 * %s.base.%s.", stat, stem, stat, op, stem, stat)
}

func (ns *Namespace) relation(in *plans.Input, m measure.Metric, rel plans.Relation) (*plans.Input, *Error) {
	if in.Relation == plans.Base && in.Against == plans.Parent {
		return nil, Wrong("invalid-address", "Unknown address", "base only has statistics; write .%s without base.", rel)
	}
	if rel == plans.Gain && m.Better == measure.Neither {
		return nil, Wrong("invalid-address", "No better direction", "%s has no better direction, so it has no gain; use .change or .delta.", m.Name)
	}
	in.Relation = rel
	if in.Ratio() {
		in.Unit = ""
	}
	return in, nil
}

func (ns *Namespace) statistic(in *plans.Input, m measure.Metric, stat string) (*plans.Input, *Error) {
	// One value per launch has neither percentiles nor a spread nor requests: such
	// a rule could never be decided.
	if m.Scope != measure.PerRequest && stat != "n" && (stat == "n_requests" || measure.LeastValues(stat) > 1) {
		cell := in.Cell
		if cell == "" {
			cell = "engine"
		}
		return nil, Wrong("invalid-address", "One value per launch", "A launch has one %s, so it has no %s. Write %s.%s.", m.Name, stat, cell, m.Name)
	}
	in.Stat = stat
	switch stat {
	case "cv":
		in.Unit = ""
	case "n":
		in.Unit = "launches"
	case "n_requests":
		in.Unit = "requests"
	}
	return in, nil
}

func (ns *Namespace) property(in *plans.Input, rest []string, f *plans.Feature) (*plans.Input, *Error) {
	if !strings.HasPrefix(in.Path, "feature[") {
		return nil, Wrong("whose-value", "Whose value?", "Write feature[%q].%s.", f.Name, rest[0])
	}
	if len(rest) > 1 {
		return nil, Wrong("invalid-address", "Unknown address", "%s has no member %q.", rest[0], rest[1])
	}
	in.Kind, in.Name, in.Type = plans.InputFeature, rest[0], plans.BoolInput
	if rest[0] == "verdict" {
		in.Type = plans.WordInput
	}
	return in, nil
}

func (ns *Namespace) level(in *plans.Input, rest []string, f *plans.Feature) (*plans.Input, *Error) {
	names := ns.plan.Protocol(f.Protocol).LevelNames()
	if len(rest) < 2 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write levels.<level>, where <level> is one of %s.", strings.Join(names, ", "))
	}
	if !slices.Contains(names, rest[1]) {
		return nil, Wrong("not-measured", "Level not in the protocol", "Protocol %q of feature %q has the levels %s.%s", f.Protocol, f.Name, strings.Join(names, ", "), lang.DidYouMean(rest[1], names)).about(AboutProtocol)
	}
	if in.Name = rest[1]; len(rest) > 2 {
		level := plans.Find(ns.plan.Protocol(f.Protocol).Levels, func(b *plans.Block) bool { return b.Level() == rest[1] })
		return ns.foundBy(in, level, rest[2:])
	}
	in.Kind, in.Type = plans.InputLevel, plans.WordInput
	return in, nil
}

// foundBy resolves levels.<level>.<number>[.base|.root|…][.delta|.change|.gain].
func (ns *Namespace) foundBy(in *plans.Input, level *plans.Block, rest []string) (*plans.Input, *Error) {
	at := slices.IndexFunc(level.Finds, func(n plans.Found) bool { return n.Name == rest[0] })
	if at < 0 {
		names := plans.Names(level.Finds, func(n plans.Found) string { return n.Name })
		if len(names) == 0 {
			return nil, Wrong("invalid-address", "Unknown address", "Level %q has a verdict but no numbers: remove %q.", in.Name, rest[0])
		}
		return nil, Wrong("unknown-metric", "Unknown metric", "Level %q has no number %q; it has %s.%s", in.Name, rest[0], listed(names), lang.DidYouMean(rest[0], names))
	}
	n := level.Finds[at]
	if n.Words != nil {
		if len(rest) > 1 {
			return nil, Wrong("invalid-address", "Unknown address", "%s is a word and has no members: remove %q.", in.Path, rest[1])
		}
		in.Kind, in.Name, in.Type, in.Words = plans.InputObserved, plans.FoundAddress(in.Name, n.Name), plans.WordInput, strings.Join(n.Words, ",")
		return in, nil
	}
	in, err := ns.metric(in, "", measure.Metric{Name: n.Name, Unit: n.Unit, Better: measure.Better(n.Better), Scope: measure.PerLaunch}, rest[1:])
	if err != nil {
		return nil, err
	}
	if in.Kind = plans.InputFound; in.Stat != "median" {
		return nil, Wrong("invalid-address", "One value per launch", "A level has one %s, from its single qualification launch, so it has no %s. Write levels.%s.%s.", n.Name, in.Stat, in.Name, n.Name)
	}
	return in, nil
}

func (ns *Namespace) knob(in *plans.Input, rest []string) (*plans.Input, *Error) {
	if len(rest) != 2 || ns.Knobs[rest[1]] == nil {
		return nil, Wrong("unknown-reference", "Unknown knob", "Write knob.<name>, where <name> is one of %s.", strings.Join(lang.KeysOf(ns.Knobs), ", "))
	}
	in.Kind, in.Name, in.Type = plans.InputKnob, rest[1], plans.WordInput
	return in, nil
}

func (ns *Namespace) engine(in *plans.Input, rest []string) (*plans.Input, *Error) {
	if len(rest) < 2 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write engine.<metric>, where <metric> is one of %s.", strings.Join(metricNames(measure.PerLaunch), ", "))
	}
	if rest[1] == "observed" {
		return ns.observed(in, rest[2:])
	}
	m, ok := measure.LookupIn(rest[1], measure.PerLaunch)
	if !ok {
		return nil, Wrong("unknown-metric", "Unknown metric", "engine.* has no metric %q.%s", rest[1], suggestMetric(rest[1], append(metricNames(measure.PerLaunch), "observed")))
	}
	if (m.Name == "startup_s" || m.Name == "first_request_s") && ns.plan.CommandEngine() != nil {
		return nil, Wrong("unknown-metric", "Unknown metric", "A command never becomes ready and gets no requests, so it has no %s. Let it print its own time, and declare that as a metric.", m.Name)
	}
	if err := ns.unobserved(m); err != nil {
		return nil, err
	}
	return ns.metric(in, "", m, rest[2:])
}

// machine resolves gpu.<metric>… and host.<metric>….
func (ns *Namespace) machine(in *plans.Input, rest []string, scope measure.Scope) (*plans.Input, *Error) {
	names := metricNames(scope)
	if len(rest) < 2 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write %s.<metric>, where <metric> is one of %s.", rest[0], strings.Join(names, ", "))
	}
	m, ok := measure.LookupIn(rest[1], scope)
	if !ok {
		return nil, Wrong("unknown-metric", "Unknown metric", "%s.* has no metric %q.%s", rest[0], rest[1], suggestMetric(rest[1], names))
	}
	return ns.metric(in, rest[0], m, rest[2:])
}

func (ns *Namespace) target(in *plans.Input, path []string) (*plans.Input, *Error) {
	if len(path) < 4 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write target.<name>.<workload>[.<cell>].<metric>.")
	}
	of, metric := strings.Join(path[2:len(path)-1], "."), path[len(path)-1]
	for _, t := range ns.plan.Targets {
		if t.Name != path[1] {
			continue
		}
		v, ok := t.Metrics[of][metric]
		if !ok {
			return nil, Wrong("invalid-address", "Target has no such number", "Target %q declares no %s.%s; it declares %s.", t.Name, of, metric, listed(numbersOf(t)))
		}
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, Wrong("rule-type", "Not a number", "Target %q has no finite %s.%s.", t.Name, of, metric)
		}
		in.Kind, in.Name, in.Number = plans.InputTarget, t.Name, v
		_, m, _, err := Measured(path[2], ns.Cells[path[2]], path[3:])
		if path[2] == plans.CommandKind {
			p, _, _, _ := plans.PrintedAt(ns.plan.CommandEngine().Prints(), path[3:])
			m = p.Metric
		}
		if err == nil || path[2] == plans.CommandKind {
			in.Unit, in.Better = m.Unit, string(m.Better)
		}
		return in, nil
	}
	hint := lang.Suggest(path[1], plans.Names(ns.plan.Targets, func(t *plans.Target) string { return t.Name }))
	if hint == "" {
		hint = " The plan declares none. Declare numbers to beat in target \"name\" { … }."
	}
	return nil, Wrong("unknown-reference", "Unknown target", "There is no target %q.%s", path[1], hint)
}

// numbersOf are the numbers that a target declares, as rules write them after its name.
func numbersOf(t *plans.Target) (list []string) {
	for _, of := range slices.Sorted(maps.Keys(t.Metrics)) {
		for _, metric := range slices.Sorted(maps.Keys(t.Metrics[of])) {
			list = append(list, of+"."+metric)
		}
	}
	return list
}

// command resolves command.<metric>….
func (ns *Namespace) command(in *plans.Input, rest []string) (*plans.Input, *Error) {
	e := ns.plan.CommandEngine()
	if e == nil {
		return nil, Wrong("not-a-command", "Not a command", `command.* is printed by engines of kind "command"; the baseline's engine is of another kind. Use a workload, as in chat.tg.gain.`)
	}
	if len(rest) < 2 {
		return nil, Wrong("invalid-address", "Incomplete address", "Name a metric of engine.%s.%s: command.<metric>.", e.Kind, e.Name)
	}
	p, rest, names, ok := plans.PrintedAt(e.Prints(), rest[1:])
	if !ok {
		return nil, ns.unprinted(e, in.Path, names)
	}
	return ns.metric(in, p.Cell, p.Metric, rest)
}

// unprinted refuses an address that is no metric printed by the command.
func (ns *Namespace) unprinted(e *plans.Engine, path string, names []string) *Error {
	name := path[strings.Index(path, plans.CommandKind+".")+len(plans.CommandKind)+1:]
	word, _, _ := strings.Cut(name, ".")
	if cells := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, "."+word) }); len(cells) > 0 {
		return Wrong("invalid-address", "Which cell?", "Metric %q of engine.%s.%s has labels: write one of %s.", word, e.Kind, e.Name, listed(cells))
	}
	return Wrong("unknown-metric", "Unknown metric", "engine.%s.%s declares no metric %q.%s", e.Kind, e.Name, word, lang.Suggest(word, names))
}

// observed resolves engine.observed.<name>. A word or a truth value is one value; a
// number is a metric of the launch, and differs between launches.
func (ns *Namespace) observed(in *plans.Input, rest []string) (*plans.Input, *Error) {
	e := ns.plan.UnderTest()
	if e == nil {
		return nil, Wrong("unknown-reference", "Unknown observation", "engine.observed reads observations of the baseline's engine, but the plan has no baseline.")
	}
	if len(rest) < 1 {
		_, names, _ := plans.FindObserved(e.Observed, "")
		return nil, Wrong("invalid-address", "Incomplete address", "Write engine.observed.<name>, where <name> is one of %s.", lang.OrNothing(names))
	}
	o, names, ok := plans.FindObserved(e.Observed, rest[0])
	if !ok {
		return nil, Wrong("unknown-reference", "Unknown observation", "No observation is called %q in engine.%s.%s.%s To observe it, add to the engine: observe %q { log = \"…\" }.", rest[0], e.Kind, e.Name, lang.Suggest(rest[0], names), rest[0])
	}
	if ty := InputType(o.Type); ty != plans.NumberInput {
		if len(rest) > 1 {
			return nil, Wrong("invalid-address", "Unknown address", "%s is a %s and has no members: remove %q.", in.Path, ty, rest[1])
		}
		in.Kind, in.Name, in.Type = plans.InputObserved, o.Name, ty
		return in, nil
	}
	return ns.metric(in, "", measure.Metric{Name: "observed." + o.Name, Unit: o.Unit, Scope: measure.PerLaunch}, rest[1:])
}

// unobserved refuses a metric that is an observation, if the engine does not report it.
func (ns *Namespace) unobserved(m measure.Metric) *Error {
	e := ns.plan.UnderTest()
	if !m.Observed || e == nil {
		return nil
	}
	if o, _, ok := plans.FindObserved(e.Observed, m.Name); ok && o.Unit == m.Unit && InputType(o.Type) == plans.NumberInput {
		return nil
	}
	return Wrong("not-measured", "Not observed", "engine.%s is reported by the engine itself, and engine.%s.%s does not observe it in %s. Add to the engine: observe %q { log = \"…\", type = \"number\", unit = %q }, each argument on its own line.", m.Name, e.Kind, e.Name, m.Unit, m.Name, m.Unit)
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
func (ns *Namespace) imported(in *plans.Input, path []string) (*plans.Input, *Error) {
	if len(path) < 4 || len(path) > 5 {
		return nil, Wrong("invalid-address", "Incomplete address", "Write imported.<name>.<cell>.<metric>.<stat>; `mxflow import` lists them.")
	}
	var names []string
	for _, i := range ns.plan.Imported {
		names = append(names, i.Name)
		if i.Name == path[1] && i.Result != nil {
			return ns.importedNumber(in, i, path)
		}
	}
	return nil, Wrong("unknown-reference", "Unknown imported", "There is no imported %q.%s", path[1], lang.DidYouMean(path[1], names))
}

func (ns *Namespace) importedNumber(in *plans.Input, i *plans.Imported, path []string) (*plans.Input, *Error) {
	var cells, metrics []string
	for _, c := range i.Result.Cells {
		cells = append(cells, c.Name)
		if c.Name != path[2] {
			continue
		}
		for _, m := range c.Metrics {
			metrics = append(metrics, m.Name)
		}
	}
	if metrics == nil {
		return nil, Wrong("invalid-address", "File has no such number", "%s has no cell %q; it has %s.%s", i.File, path[2], listed(cells), lang.DidYouMean(path[2], cells))
	}
	m, ok := i.Result.Lookup(path[2], path[3])
	if !ok {
		return nil, Wrong("invalid-address", "File has no such number", "%s has no %q of %s; it has %s.%s", i.File, path[3], path[2], listed(metrics), lang.DidYouMean(path[3], metrics))
	}
	stats := m.StatNames()
	stat := stats[0]
	switch {
	case len(path) == 5:
		stat = path[4]
	case len(stats) > 1:
		return nil, Wrong("invalid-address", "Incomplete address", "%s has several numbers: append one of %s.", in.Path, listed(stats))
	}
	v, ok := m.Stats[stat]
	if !ok {
		return nil, Wrong("invalid-address", "File has no such number", "%s.%s of %s has no %q; it has %s.%s", path[2], path[3], i.File, stat, listed(stats), lang.DidYouMean(stat, stats))
	}
	in.Kind, in.Block, in.Name, in.Number, in.Unit, in.Better = plans.InputTarget, "imported", i.Name, v, m.Unit, string(m.Better)
	if stat == "cv" {
		in.Unit = ""
	}
	return in, nil
}

// mostListed is how many names a message lists.
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
func (ns *Namespace) unsent(sent []string, protocol, workload string) *plans.Unsent {
	if slices.Contains(sent, workload) {
		return nil
	}
	u := &plans.Unsent{Workload: workload, Suite: ns.plan.Suite, Protocol: protocol}
	for _, s := range ns.plan.Suites {
		if u.Suite == "" && slices.Contains(s.Workloads, workload) {
			u.Suites = append(u.Suites, "--suite "+s.Name)
		}
	}
	return u
}

// stepNumber resolves step.<name>.<number>: what a step found, such as what its program
// printed.
func (ns *Namespace) stepNumber(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads a step", "A criterion can only read its own feature. Move this rule to the gate of a phase, which can read steps.")
	}
	var names []string
	var phase string
	var step *plans.Block
	for _, ph := range ns.plan.Phases {
		for _, b := range ph.Steps {
			if len(b.Finds) == 0 || !ns.before(sc, ph.Name) {
				continue
			}
			if names = append(names, b.Name); len(path) > 1 && b.Name == path[1] {
				if step != nil {
					return nil, Wrong("invalid-address", "Which step?", "Phases %s and %s each have a step called %q before this gate ends. Give them different names.", phase, ph.Name, b.Name)
				}
				phase, step = ph.Name, b
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, Wrong("invalid-address", "Rule on a step", "No step before this gate has numbers. Rules read features, rows of a comparison (compare.<step>[\"<kind>.<engine>\"].<workload>.tg.gain), cells of a matrix (matrix.<step>[\"<knob>=<value>\"].<workload>.tg.gain) and its counts, and the metrics of a step \"exec\". A step that fails already fails its phase: remove the rule.").about(AboutName)
	case step == nil:
		given := ""
		if len(path) > 1 {
			given = path[1]
		}
		return nil, Wrong("unknown-reference", "Unknown step", "This phase and those before it have no step %q with numbers (an \"exec\" with metric blocks, or a \"matrix\"); they have %s.%s", given, strings.Join(names, ", "), lang.DidYouMean(given, names))
	case len(path) < 3:
		return nil, Wrong("invalid-address", "Incomplete address", "Write step.%s.%s.", step.Name, step.Finds[0].Name)
	}
	at := slices.IndexFunc(step.Finds, func(n plans.Found) bool { return n.Name == path[2] })
	if at < 0 {
		numbers := plans.Names(step.Finds, func(n plans.Found) string { return n.Name })
		return nil, Wrong("unknown-metric", "Unknown metric", "Step %q has no number %q; it has %s.%s", step.Name, path[2], strings.Join(numbers, ", "), lang.DidYouMean(path[2], numbers))
	}
	if len(path) > 3 {
		return nil, Wrong("invalid-address", "Unknown address", "A step runs once and has nothing to compare with: %q has no members. Remove %q.", path[2], path[3])
	}
	n := step.Finds[at]
	in.Row = &plans.Row{Phase: phase, Step: step.Name, Of: step.Kind}
	in.Kind, in.Feature, in.Name, in.Metric, in.Stat = plans.InputFound, in.Row.Key(), step.Name, n.Name, "median"
	in.Unit, in.Of, in.Better = n.Unit, n.Unit, string(measure.Better(n.Better))
	return in, nil
}

// ofBaseline resolves baseline.levels.<level>.<number>: what the baseline's qualification
// launch found, by which a gate tells whether a port is worth the work.
func (ns *Namespace) ofBaseline(in *plans.Input, rest []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads the baseline", "A criterion can only read its own feature: write %s.base, or %s.root if the baseline is not its parent. Gates can read the baseline's own numbers.", strings.Join(rest, "."), strings.Join(rest, "."))
	}
	if ns.plan.Baseline == nil {
		return nil, Wrong("unknown-reference", "No baseline", "The plan has no baseline.")
	}
	if len(rest) < 3 {
		return nil, Wrong("invalid-address", "Incomplete address", "The baseline always passes its levels before a gate is decided, so only their numbers can be read here. Write baseline.levels.<level>.<number>.")
	}
	in, err := ns.level(in, rest, &plans.Feature{Name: "baseline", Protocol: ns.plan.Baseline.Protocol})
	switch {
	case err != nil:
		return nil, err
	case in.Relation != plans.Own:
		return nil, Wrong("invalid-address", "Unknown address", "The baseline has nothing to compare with: %q has no members.", strings.Join(rest[:3], "."))
	}
	row := plans.BaselineRow
	in.Row, in.Feature = &row, row.Key()
	return in, nil
}
