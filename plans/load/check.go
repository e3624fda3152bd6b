package load

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

// planCheck finds what is wrong with a plan as a whole. While blocks are decoded it
// collects what they say of each other; checkPlan comes when all are known.
type planCheck struct {
	*eval.Scope
	plan     *plans.Plan
	reg      *plans.Registry
	engines  *engineDecoder
	knobs    *knobDecoder
	unproven bool

	features map[string]*featureNotes
	// order is the features as they stand in the plan.
	order []*featureNotes
	edges []phaseEdge
	// targets are numbers to beat under "command".
	targets []targetNote

	// circular is set when the graph has a circle, so that nothing walks it.
	circular bool
	// protocolsInDoubt is set when a protocol, or the choice of one, is wrong.
	protocolsInDoubt bool
}

// phaseEdge says that phase from waits for phase to.
type phaseEdge struct {
	from, to, why string
	at            hcl.Range
}

func (c *planCheck) edge(from, to, why string, at hcl.Range) {
	c.edges = append(c.edges, phaseEdge{from, to, why, at})
}

// checkPlan is the third pass.
func (c *planCheck) checkPlan() {
	if len(c.order) > 0 && c.plan.Baseline == nil {
		first := c.order[0]
		c.Fail(first.def, "missing-block", "Missing baseline", "Feature %q has nothing to be compared with. Add: baseline { engine = engine.kind.name, protocol = protocol.name }, each on its own line.", first.feature.Name)
	}
	onCycle := c.checkLineage()
	c.checkPhaseOrder(onCycle)
	if !c.circular {
		c.checkChanges()
	}
	c.checkProof()
	c.checkCommands()
	c.checkEndpoints()
	c.checkConfirmations()
	c.knobs.checkObserved()
	c.checkOffered()
}

// checkLineage finds features that are their own ancestors.
func (c *planCheck) checkLineage() map[string]bool {
	next := func(name string) []phaseEdge {
		n := c.features[name]
		if n == nil || n.feature.BuildsOn.Kind != plans.OnFeature {
			return nil
		}
		return []phaseEdge{{name, n.feature.BuildsOn.Feature, "", n.parentAt}}
	}
	var names []string
	for _, n := range c.order {
		names = append(names, n.feature.Name)
	}
	onCycle := map[string]bool{}
	for _, cycle := range cycles(names, next) {
		path := ""
		for _, e := range cycle {
			onCycle[e.from] = true
			path += "feature." + e.from + " → "
		}
		c.circular = true
		c.Fail(cycle[0].at, "cycle", "Cycle of features", "A feature cannot build on itself: %sfeature.%s. Let one of them build on baseline or accepted.", path, cycle[0].from)
	}
	return onCycle
}

// checkPhaseOrder finds phases that wait for themselves, by after or because a
// feature builds on one of a later phase.
func (c *planCheck) checkPhaseOrder(skip map[string]bool) {
	edges := map[string][]phaseEdge{}
	for _, e := range c.edges {
		edges[e.from] = append(edges[e.from], e)
	}
	for _, n := range c.order {
		f := n.feature
		if f.BuildsOn.Kind != plans.OnFeature || skip[f.Name] {
			continue
		}
		parent := c.features[f.BuildsOn.Feature]
		if parent == nil || parent.feature.Phase == f.Phase {
			continue
		}
		why := fmt.Sprintf("feature.%s builds on feature.%s", f.Name, parent.feature.Name)
		edges[f.Phase] = append(edges[f.Phase], phaseEdge{f.Phase, parent.feature.Phase, why, n.parentAt})
	}
	for _, cycle := range cycles(c.Symbols.Of("phase").Order, func(name string) []phaseEdge { return edges[name] }) {
		path := ""
		for _, e := range cycle {
			path += fmt.Sprintf("phase.%s (%s) → ", e.from, e.why)
		}
		c.circular = true
		c.Fail(cycle[0].at, "cycle", "Cycle of phases", "A phase cannot wait for itself: %sphase.%s. Remove one of these links.", path, cycle[0].from)
	}
}

// cycles finds circles in a graph: at least one for every node that is on one.
// Each begins at its node that stands first in names.
func cycles(names []string, next func(string) []phaseEdge) (found [][]phaseEdge) {
	const open, done = 1, 2
	state := map[string]int{}
	position := map[string]int{}
	for i, n := range names {
		position[n] = i
	}
	var path []phaseEdge
	var visit func(string)
	visit = func(name string) {
		state[name] = open
		for _, e := range next(name) {
			switch state[e.to] {
			case open:
				found = append(found, rotate(append(path, e), position))
			case done:
			default:
				path = append(path, e)
				visit(e.to)
				path = path[:len(path)-1]
			}
		}
		state[name] = done
	}
	for _, n := range names {
		if state[n] == 0 {
			visit(n)
		}
	}
	return found
}

// rotate cuts the circle that the last edge closes out of a path.
func rotate(path []phaseEdge, position map[string]int) []phaseEdge {
	target := path[len(path)-1].to
	from := len(path) - 1
	for path[from].from != target {
		from--
	}
	cycle := path[from:]
	least := 0
	for i, e := range cycle {
		if position[e.from] < position[cycle[least].from] {
			least = i
		}
	}
	return slices.Concat(cycle[least:], cycle[:least])
}

// checkChanges refuses a feature that sets a knob to what its parent has
// already: the comparison would be of a thing with itself.
func (c *planCheck) checkChanges() {
	base := map[string]string{}
	for _, k := range c.plan.Knobs {
		base[k.Name] = k.Default
	}
	if c.plan.Baseline != nil {
		for knob, value := range c.plan.Baseline.Set {
			base[knob] = value
		}
	}
	children := map[string][]*featureNotes{}
	for _, n := range c.order {
		if n.feature.BuildsOn.Kind == plans.OnFeature {
			children[n.feature.BuildsOn.Feature] = append(children[n.feature.BuildsOn.Feature], n)
		}
	}
	// One map of values serves the whole walk: each feature changes it on the
	// way down and puts it back on the way up.
	var walk func(n *featureNotes, values map[string]string)
	walk = func(n *featureNotes, values map[string]string) {
		f := n.feature
		before := map[string]string{}
		for _, knob := range lang.KeysOf(f.Set) {
			before[knob] = values[knob]
			if values[knob] == f.Set[knob] {
				c.Fail(n.setAt[knob], "nothing-under-test", "Knob value does not change", "Knob %q is %q in the parent (%s) already, so setting it tests nothing. Set another value, or remove it.", knob, f.Set[knob], parentName(f))
			}
			values[knob] = f.Set[knob]
		}
		if choose := f.Choose; choose != nil {
			before[choose.Knob] = values[choose.Knob]
			if at, same := n.chooseAt[values[choose.Knob]]; same {
				c.Fail(at, "nothing-under-test", "Knob value does not change", "Knob %q is %q in the parent (%s) already, so this alternative tests nothing: every alternative is compared with it anyway. Take it out of choose.", choose.Knob, values[choose.Knob], parentName(f))
			}
			// Which of them a child builds on is known only in a run.
			values[choose.Knob] = ""
		}
		for _, child := range children[f.Name] {
			walk(child, values)
		}
		for knob, value := range before {
			values[knob] = value
		}
	}
	for _, n := range c.order {
		switch n.feature.BuildsOn.Kind {
		case plans.OnBaseline:
			walk(n, base)
		case plans.OnAccepted:
			walk(n, c.underAny(n.feature, base))
		}
	}
}

// underAny is what the stack below a feature has for certain: what has been
// accepted is known only in a run, but a knob that no other feature sets to
// anything else has the baseline's value in every stack.
func (c *planCheck) underAny(f *plans.Feature, base map[string]string) map[string]string {
	values := maps.Clone(base)
	for _, n := range c.order {
		if n.feature == f {
			continue
		}
		for knob, value := range n.feature.Set {
			if value != base[knob] {
				delete(values, knob)
			}
		}
		if choose := n.feature.Choose; choose != nil {
			delete(values, choose.Knob)
		}
	}
	return values
}

func parentName(f *plans.Feature) string {
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		return "feature." + f.BuildsOn.Feature
	case plans.OnAccepted:
		return "accepted, whatever that will be: no other feature sets it to anything else"
	}
	return string(f.BuildsOn.Kind)
}

// checkProof refuses knob values that a variant uses under a protocol that
// proves kernels, and that say nothing by which they could be proved.
func (c *planCheck) checkProof() {
	proves := map[string]bool{}
	for _, p := range c.plan.Protocols {
		proves[p.Name] = p.Level("kernels") != nil
	}
	// user of a value by knob and value, for the message.
	users := map[[2]string]string{}
	use := func(knob, value, user string) {
		if _, known := users[[2]string{knob, value}]; !known {
			users[[2]string{knob, value}] = user
		}
	}
	visited := map[*featureNotes]bool{}
	any := c.plan.Baseline != nil && proves[c.plan.Baseline.Protocol]
	for _, n := range c.order {
		if !proves[n.feature.Protocol] {
			continue
		}
		any = true
		// A variant has its ancestors' values too.
		for a := n; a != nil && !visited[a]; a = c.features[a.feature.BuildsOn.Feature] {
			visited[a] = true
			for _, knob := range lang.KeysOf(a.feature.Set) {
				use(knob, a.feature.Set[knob], "feature."+a.feature.Name)
			}
			for _, alternative := range a.feature.Alternatives {
				use(a.feature.Choose.Knob, alternative.Set[a.feature.Choose.Knob], "feature."+alternative.Name)
			}
		}
	}
	if any {
		for _, k := range c.plan.Knobs {
			value := k.Default
			if c.plan.Baseline != nil && c.plan.Baseline.Set[k.Name] != "" {
				value = c.plan.Baseline.Set[k.Name]
			}
			use(k.Name, value, "baseline")
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(users), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		k := c.knobs.byName[key[0]]
		if k == nil {
			continue
		}
		v := k.Value(key[1])
		if v == nil || !v.MustSee.Empty() || !v.MustNotSee.Empty() {
			continue
		}
		where := lang.HCL(v.Range)
		detail := fmt.Sprintf(`Every knob value in use needs evidence; %s = %q (%s) has none. Add to this value: must_see { log = ["*what the engine logs then*"] }, or must_see { observed = { … } }, or must_not_see, or take the kernels level out of the protocol.`, k.Name, v.Name, users[key])
		if c.unproven {
			c.Warn(where, "unproven-knob-value", "Unproven knob value", "%s", detail)
			continue
		}
		c.Fail(where, "unproven-knob-value", "Unproven knob value", "%s", detail)
	}
}

// targetNote is a number to beat of a command's metric: which metrics there are
// is known only when all engines are decoded.
type targetNote struct {
	metric string
	at     hcl.Range
}

// checkCommands checks what a protocol must have for the engine that goes
// through it: a server needs workloads, and a command brings its own.
func (c *planCheck) checkCommands() {
	e := c.plan.CommandEngine()
	c.checkCommandTargets(e)
	under := map[string]bool{}
	if e != nil {
		under[c.plan.Baseline.Protocol] = true
		for _, n := range c.order {
			under[n.feature.Protocol] = true
		}
	}
	for _, p := range c.plan.Protocols {
		for _, b := range p.Levels {
			if !under[p.Name] || !c.reg.Levels[b.Kind].Asks {
				continue
			}
			c.Fail(lang.HCL(b.Range), "command-is-no-server", "Prompt for a command", "engine.%s.%s is a command, which answers no prompt. Remove this level: a command is qualified by running it once, which has to end with status 0 and print every metric.", e.Kind, e.Name)
		}
		b := p.Level(plans.BenchmarkLevel)
		if b == nil || !c.workloadsDepend() {
			continue
		}
		sent := len(plans.AnyList(b.Attrs["workloads"])) > 0 || b.Attrs["suite"] != nil
		switch {
		case under[p.Name] && sent:
			c.Fail(lang.HCL(b.Range), "command-is-no-server", "Workloads for a command", "engine.%s.%s is a command, which brings its own work. Remove workloads and suite; what it prints is measured by its metric blocks.", e.Kind, e.Name)
		case !under[p.Name] && !sent:
			if b.Written["workloads"] || b.Written["suite"] {
				continue // what is wrong with it has been reported
			}
			c.protocolsInDoubt = true
			c.Fail(lang.HCL(b.Range), "missing-attribute", "Missing workloads", `level "benchmark" needs workloads: what is sent, as in workloads = [workload.chat]. Only an engine of kind "command" brings its own.`)
		}
	}
}

// workloadsDepend reports whether the registry leaves it to the engine whether a
// benchmark has workloads.
func (c *planCheck) workloadsDepend() bool {
	for _, a := range c.reg.Levels[plans.BenchmarkLevel].Attrs {
		if a.Name == "workloads" {
			return !a.Required
		}
	}
	return false
}

// checkCommandTargets checks numbers to beat against the metrics of the command
// that has to beat them.
func (c *planCheck) checkCommandTargets(e *plans.Engine) {
	for _, t := range c.targets {
		if e == nil {
			c.Fail(t.at, "not-a-command", "Not a command", `Numbers under "command" are for an engine of kind "command", and the baseline's engine is none. Name a workload.`)
			continue
		}
		if _, names, ok := plans.MetricOf(e.CommandMetrics(), t.metric); !ok {
			c.Fail(t.at, "unknown-metric", "Unknown metric", "engine.%s.%s declares no metric %q.%s", e.Kind, e.Name, t.metric, lang.Suggest(t.metric, names))
		}
	}
}

// endpointLauncher is the keyword of the block for an engine that somebody else
// runs.
const endpointLauncher = "endpoint"

// checkEndpoints finds what a plan wants of an engine that somebody else runs
// and that cannot reach it.
func (c *planCheck) checkEndpoints() {
	for _, e := range c.plan.Engines {
		if e.Launch == nil || e.Launch.Kind != endpointLauncher {
			continue
		}
		c.checkEndpoint(e)
		if c.underTest(e) {
			for _, k := range c.plan.Knobs {
				for _, v := range k.Values {
					c.checkReach(e, k, v)
				}
			}
		}
	}
}

// underTest reports whether features are measured on an engine: it is the
// baseline's, or one that they are confirmed on.
func (c *planCheck) underTest(e *plans.Engine) bool {
	key := e.Kind + "." + e.Name
	if b := c.plan.Baseline; b != nil && b.Engine == key {
		return true
	}
	for _, n := range c.order {
		for _, note := range n.confirms {
			if note.confirm.Engine == key {
				return true
			}
		}
	}
	return false
}

func restarts(e *plans.Engine) bool {
	argv, _ := e.Launch.Attrs["restart"].([]any)
	return len(argv) > 0
}

func (c *planCheck) checkEndpoint(e *plans.Engine) {
	lost := holding([]held{
		{"settings", len(e.Settings) > 0},
		{"args", len(e.Args) > 0},
		{"env", len(e.Env) > 0 && !restarts(e)},
		{"caches", len(e.Parts["caches"]) > 0},
		{"source", len(e.Parts["source"]) > 0},
		{"tree", len(e.Parts["tree"]) > 0},
		{"stop", e.StopGrace != 0},
	})
	if len(lost) > 0 {
		c.Fail(lang.HCL(e.Range), "endpoint", "Endpoint is not started", "Engine %s.%s is run by somebody else, so %s of the plan cannot reach it. Remove that, and configure the server where it is started; env is given to the restart command of the endpoint block, where there is one.",
			e.Kind, e.Name, verdict.And(lost))
	}
	key, _ := e.Launch.Attrs["api_key"].(string)
	if key != "" && !c.Secrets.Known[key] {
		c.Fail(lang.HCL(e.Launch.Range), "key-not-sensitive", "Key is not sensitive", `The api_key of engine %s.%s would end up in logs, reports and the recorded plan. Take it from a variable: variable "key" { type = string, sensitive = true }, each on its own line, then api_key = var.key, and give it in MXFLOW_VAR_key. A key that is no secret goes into headers.`, e.Kind, e.Name)
	}
}

// held is whether something of a plan says anything, by its name.
type held struct {
	name string
	says bool
}

func holding(all []held) (names []string) {
	for _, h := range all {
		if h.says {
			names = append(names, h.name)
		}
	}
	return names
}

// checkReach reports a knob's value that an endpoint cannot be told of.
func (c *planCheck) checkReach(e *plans.Engine, k *plans.Knob, v *plans.KnobValue) {
	lost := append(holding([]held{
		{"settings", len(v.Settings) > 0},
		{"args", len(v.Args) > 0},
		{"command", len(v.Command) > 0},
		{"image", v.Image != ""},
		{"env", len(v.Env) > 0 && !restarts(e)},
	}), lang.KeysOf(v.Parts)...)
	if len(lost) == 0 {
		return
	}
	cure := "With restart in the endpoint block the env of knobs is given to that command; nothing else can reach the server."
	if restarts(e) {
		cure = "Its restart command is given the env of knobs and nothing else: put what it needs there, and let the command act on it."
	}
	c.Fail(lang.HCL(v.Range), "endpoint", "Knob cannot reach the endpoint", "Engine %s.%s is run by somebody else, so %s of value %q of knob %q would have no effect. %s",
		e.Kind, e.Name, verdict.And(lost), v.Name, k.Name, cure)
}
