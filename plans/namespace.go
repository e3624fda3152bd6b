package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// namespace is what rules of one plan can address.
type namespace struct {
	plan     *Plan
	cells    map[string][]Cell // by workload
	knobs    map[string]*Knob
	phases   map[string]*Phase
	features map[string]*Feature
	// workloads by name.
	workloads map[string]*Workload
	// measured are, by protocol, the workloads that its benchmark may send: its own
	// and those of all suites. sent are those that it does send, as the load has
	// chosen a suite or none.
	measured, sent map[string][]string
}

func newNamespace(p *Plan) *namespace {
	ns := &namespace{
		plan: p, cells: map[string][]Cell{}, knobs: map[string]*Knob{},
		phases: map[string]*Phase{}, features: map[string]*Feature{}, workloads: map[string]*Workload{},
		measured: map[string][]string{}, sent: map[string][]string{},
	}
	for _, w := range p.Workloads {
		ns.cells[w.Name] = w.Cells()
		ns.workloads[w.Name] = w
	}
	for _, k := range p.Knobs {
		ns.knobs[k.Name] = k
	}
	for _, ph := range p.Phases {
		ns.phases[ph.Name] = ph
		for _, f := range ph.Features {
			ns.features[f.Name] = f
		}
	}
	for _, pr := range p.Protocols {
		ns.measured[pr.Name], ns.sent[pr.Name] = p.sendable(pr.Level(BenchmarkLevel)), p.Sent(pr.Level(BenchmarkLevel))
	}
	return ns
}

// launchesOf is how many launches an arm has in a feature's benchmark at most, 0
// where that is not known.
func (ns *namespace) launchesOf(feature string) int {
	f := ns.features[feature]
	if f == nil {
		return 0
	}
	_, most := ns.plan.launchesUnder(f.Protocol)
	return most
}

// resolve turns an address into an input. The second result is one sentence
// that says what is wrong and one that says what to do.
func (ns *namespace) resolve(elements []string, sc *scope) (*Input, *ruleError) {
	in := &Input{Path: spell(elements), Type: NumberInput}
	if elements[0] == "feature" {
		return ns.feature(in, elements, sc)
	}
	if elements[0] == "target" {
		return ns.target(in, elements)
	}
	if elements[0] == "imported" {
		return ns.imported(in, elements)
	}
	if sc.own == nil {
		return nil, wrong("Whose value?", "%q needs a feature in front, because this gate decides over %s: write feature[\"name\"].%s.", in.Path, several(sc.phase), in.Path)
	}
	return ns.ofFeature(in, elements, sc.own)
}

// spell writes an address as a rule does.
func spell(elements []string) string {
	if elements[0] == "feature" && len(elements) > 1 {
		head := fmt.Sprintf("feature[%q]", elements[1])
		return strings.Join(append([]string{head}, elements[2:]...), ".")
	}
	return strings.Join(elements, ".")
}

func several(ph *Phase) string {
	const most = 5
	names := make([]string, 0, most+1)
	for _, f := range ph.Features {
		if len(names) == most {
			names = append(names, "…")
			break
		}
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return "no feature"
	}
	return fmt.Sprintf("%d features (%s)", len(ph.Features), strings.Join(names, ", "))
}

func wrong(summary, format string, args ...any) *ruleError {
	return &ruleError{summary: summary, detail: fmt.Sprintf(format, args...)}
}

// feature resolves feature["name"].….
func (ns *namespace) feature(in *Input, path []string, sc *scope) (*Input, *ruleError) {
	if sc.criterion {
		return nil, wrong("Criterion reads another feature", "A criterion judges its own feature and uses bare names; compare features in the phase's gate.")
	}
	if len(path) < 3 {
		return nil, wrong("Incomplete address", "Write feature[\"name\"].verdict, .accepted, .decided or a metric such as .chat.tg.gain.")
	}
	f := ns.features[path[1]]
	if f == nil {
		return nil, wrong("Unknown feature", "There is no feature %q.%s", path[1], didYouMean(path[1], featureNames(ns.plan)))
	}
	if !ns.decidedBefore(sc, f) {
		return nil, wrong("Feature not decided before this gate", "Feature %q stands in phase %q, which this phase does not come after. Add after = [phase.%s], or read it in a later gate.", f.Name, f.Phase, f.Phase)
	}
	return ns.ofFeature(in, path[2:], f)
}

// ofFeature resolves what follows feature["name"], or a bare name.
func (ns *namespace) ofFeature(in *Input, rest []string, f *Feature) (*Input, *ruleError) {
	in.Feature = f.Name
	switch head := rest[0]; head {
	case "verdict", "accepted", "decided":
		return ns.property(in, rest, f)
	case "levels":
		return ns.level(in, rest, f)
	case "knob":
		return ns.knob(in, rest)
	case "engine":
		return ns.engine(in, rest)
	case commandKind:
		return ns.command(in, rest)
	case "gpu":
		return ns.machine(in, rest, measure.PerGPU)
	case "host":
		return ns.machine(in, rest, measure.PerHost)
	case "quality", "kernels":
		return nil, wrong("Not measured by this version", "%s.* has no evidence source yet, so a rule on it could never pass. Kernel proof is levels.kernels == 'pass'.", head)
	default:
		if _, ok := ns.cells[head]; ok {
			return ns.workload(in, rest, f)
		}
		if len(rest) > 1 && slices.Contains([]string{"var", "local", "each", "count"}, head) {
			path := strings.Join(rest, ".")
			return nil, wrong("Unknown name in a rule", "A rule names what is measured; what the plan says is put into its text: \"${%s}\" in place of %s.", path, path)
		}
		if hint := ns.headHint(rest, f); hint != "" {
			return nil, wrong("Unknown name in a rule", "%q is no workload.%s", head, hint)
		}
		names := append(workloadNames(ns.plan), "engine", "gpu", "host", "levels", "knob", "target", "imported", "feature")
		if ns.plan.commandEngine() != nil {
			names = append(names, commandKind)
		}
		return nil, wrong("Unknown name in a rule", "%q is neither a workload nor one of engine, gpu, host, levels, knob, target, imported, feature.%s", head, didYouMean(head, names))
	}
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

func featureNames(p *Plan) (names []string) {
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			names = append(names, f.Name)
		}
	}
	return names
}

func workloadNames(p *Plan) (names []string) {
	for _, w := range p.Workloads {
		names = append(names, w.Name)
	}
	return names
}
