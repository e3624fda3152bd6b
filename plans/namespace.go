package plans

import (
	"fmt"
	"sort"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// namespace is what rules of one plan can address.
type namespace struct {
	plan  *Plan
	cells map[string][]Cell // by workload
	knobs map[string]*Knob
	// measured caches, by protocol, the workloads that its benchmark sends.
	measured map[string][]string
}

// scope is where a rule stands.
type scope struct {
	// own is the feature that bare names belong to; nil when there is none.
	own *Feature
	// criterion is true in a feature, false in a gate.
	criterion bool
	// visible are the features that feature["name"] may lead to.
	visible map[string]*Feature
	// candidates are the features of the gate's phase, to word the error.
	candidates []string
}

func newNamespace(p *Plan) *namespace {
	ns := &namespace{plan: p, cells: map[string][]Cell{}, knobs: map[string]*Knob{}, measured: map[string][]string{}}
	for _, w := range p.Workloads {
		ns.cells[w.Name] = w.Cells()
	}
	for _, k := range p.Knobs {
		ns.knobs[k.Name] = k
	}
	for _, pr := range p.Protocols {
		if b := pr.Level("benchmark"); b != nil {
			for _, w := range anyList(b.Attrs["workloads"]) {
				if name, ok := w.(string); ok {
					ns.measured[pr.Name] = append(ns.measured[pr.Name], name)
				}
			}
		}
	}
	return ns
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
	if sc.own == nil {
		return nil, wrong("Whose value?", "%q needs a feature in front, because this gate decides over %s: write feature[\"name\"].%s.", in.Path, several(sc.candidates), in.Path)
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

func several(names []string) string {
	if len(names) == 0 {
		return "no feature"
	}
	return fmt.Sprintf("%d features (%s)", len(names), strings.Join(names, ", "))
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
	f := ns.plan.Feature(path[1])
	if f == nil {
		return nil, wrong("Unknown feature", "There is no feature %q.%s", path[1], didYouMean(path[1], featureNames(ns.plan)))
	}
	if sc.visible[f.Name] == nil {
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
	case "gpu", "quality", "kernels":
		return nil, wrong("Not measured by this version", "%s.* has no evidence source yet, so a rule on it could never pass. Memory of the engine process is engine.memory_gb; kernel proof is levels.kernels == 'pass'.", head)
	default:
		if _, ok := ns.cells[head]; ok {
			return ns.workload(in, rest, f)
		}
		names := append(workloadNames(ns.plan), "engine", "levels", "knob", "target", "feature")
		return nil, wrong("Unknown name in a rule", "%q is neither a workload nor one of engine, levels, knob, target, feature.%s", head, didYouMean(head, names))
	}
}

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
	if !contains(names, rest[1]) {
		return nil, wrong("Level not in the protocol", "Protocol %q of feature %q has the levels %s.%s", f.Protocol, f.Name, strings.Join(names, ", "), didYouMean(rest[1], names))
	}
	in.Kind, in.Name, in.Type = InputLevel, rest[1], WordInput
	return in, nil
}

func (ns *namespace) knob(in *Input, rest []string) (*Input, *ruleError) {
	if len(rest) != 2 || ns.knobs[rest[1]] == nil {
		return nil, wrong("Unknown knob", "Write knob.<name>, with one of %s.", strings.Join(sorted(ns.knobs), ", "))
	}
	in.Kind, in.Name, in.Type = InputKnob, rest[1], WordInput
	return in, nil
}

func (ns *namespace) engine(in *Input, rest []string) (*Input, *ruleError) {
	var names []string
	for _, m := range measure.Catalogue() {
		if m.Scope == measure.PerLaunch {
			names = append(names, m.Name)
		}
	}
	if len(rest) < 2 {
		return nil, wrong("Incomplete address", "Write engine.<metric>, with one of %s.", strings.Join(names, ", "))
	}
	m, ok := measure.Lookup(rest[1])
	if !ok || m.Scope != measure.PerLaunch {
		return nil, wrong("Unknown metric", "engine.* has the metrics %s.%s", strings.Join(names, ", "), didYouMean(rest[1], names))
	}
	return ns.metric(in, "", m, rest[2:])
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
		in.Kind, in.Name, in.Number = InputTarget, t.Name, v
		if m, ok := measure.Lookup(path[3]); ok {
			in.Unit, in.Better = m.Unit, string(m.Better)
		}
		return in, nil
	}
	return nil, wrong("Unknown target", "There is no target %q.", path[1])
}

func anyList(v any) []any {
	list, _ := v.([]any)
	return list
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
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
