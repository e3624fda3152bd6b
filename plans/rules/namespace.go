// Package rules compiles the rules of a plan: it resolves their addresses, refuses
// comparisons that statistics cannot decide, and chooses the test of each comparison. It
// reads a decoded plan; it neither evaluates expressions of the plan nor decides a rule.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Namespace is what rules of one plan can address.
type Namespace struct {
	plan     *plans.Plan
	Cells    map[string][]plans.Cell // by workload
	Knobs    map[string]*plans.Knob
	Phases   map[string]*plans.Phase
	Features map[string]*plans.Feature
	// Workloads by name.
	Workloads map[string]*plans.Workload
	// measured are, by protocol, the workloads that its benchmark may send: its own and
	// those of all suites. Sent are the ones that it does send, under the suite that the
	// load has chosen, if any.
	measured, Sent map[string][]string
}

func New(p *plans.Plan) *Namespace {
	ns := &Namespace{
		plan: p, Cells: map[string][]plans.Cell{}, Knobs: map[string]*plans.Knob{},
		Phases: map[string]*plans.Phase{}, Features: map[string]*plans.Feature{},
		Workloads: map[string]*plans.Workload{},
		measured:  map[string][]string{}, Sent: map[string][]string{},
	}
	for _, w := range p.Workloads {
		ns.Cells[w.Name] = w.Cells()
		ns.Workloads[w.Name] = w
	}
	for _, k := range p.Knobs {
		ns.Knobs[k.Name] = k
	}
	for _, ph := range p.Phases {
		ns.Phases[ph.Name] = ph
		for _, f := range ph.Features {
			ns.Features[f.Name] = f
		}
	}
	for _, pr := range p.Protocols {
		ns.measured[pr.Name], ns.Sent[pr.Name] = p.Sendable(pr.Level(plans.BenchmarkLevel)),
			p.SentWorkloads(pr.Level(plans.BenchmarkLevel))
	}
	return ns
}

// LaunchesOf is the most launches that an arm has in a feature's benchmark, 0 if that is
// unknown.
func (ns *Namespace) LaunchesOf(feature string) int {
	f := ns.Features[feature]
	if f == nil {
		return 0
	}
	_, most := ns.plan.LaunchesUnder(f.Protocol)
	return most
}

// heads are the first elements of addresses that say themselves whose value they name. All
// others are the feature's at hand.
var heads = map[string]func(*Namespace, *plans.Input, []string, *Scope) (*plans.Input, *Error){
	"feature": (*Namespace).feature, "target": (*Namespace).target, "imported": (*Namespace).imported,
	"step": (*Namespace).stepNumber, "baseline": (*Namespace).ofBaseline,
	plans.CompareStep: (*Namespace).row, plans.MatrixStep: (*Namespace).cell,
}

// Resolve turns an address into an input. Its error is two sentences: the mistake, and
// how to mend it.
func (ns *Namespace) Resolve(elements []string, sc *Scope) (*plans.Input, *Error) {
	in := &plans.Input{Path: spell(elements), Type: plans.NumberInput}
	head, resolve := elements[0], heads[elements[0]]
	ofFeature := head == "baseline" && (len(elements) == 1 || elements[1] != "levels") ||
		ns.Workloads[head] != nil && head != "imported"
	switch {
	case resolve != nil && !ofFeature:
		return resolve(ns, in, elements, sc)
	case len(elements) == 1 && slices.Contains(DecidedWords, head):
		return nil, Wrong("invalid-address", "Unknown name in a rule",
			"%s is a word; put words in single quotes: '%s'.", head, head)
	case sc.Own == nil:
		return nil, ns.refuseAmbiguous(in.Path, sc)
	}
	return ns.ofFeature(in, elements, sc.Own)
}

// incomplete refuses an address that ends before what its form names last, which is one of
// these names.
func incomplete(form string, names ...string) *Error {
	if len(names) > 0 {
		last := form[strings.LastIndexByte(form, '<'):]
		form += ", where " + last[:strings.IndexByte(last, '>')+1] + " is one of " + listed(names)
	}
	return Wrong("invalid-address", "Incomplete address", "Write %s.", form)
}

// unknown refuses a name: its owner has others, or none.
func unknown(code, summary, lacks, given string, names []string) *Error {
	return Wrong(code, summary, "%s %q.%s", lacks, given, lang.OrDefault(lang.Suggest(given, names), " It has none."))
}

func spell(elements []string) string {
	if elements[0] == "feature" && len(elements) > 1 {
		head := fmt.Sprintf("feature[%q]", elements[1])
		return strings.Join(append([]string{head}, elements[2:]...), ".")
	}
	for i, e := range elements {
		if i > 1 && (elements[0] == plans.CompareStep && strings.Contains(e, ".") || elements[0] == plans.MatrixStep &&
			strings.Contains(e, "=")) {
			head := fmt.Sprintf("%s[%q]", strings.Join(elements[:i], "."), e)
			return strings.Join(append([]string{head}, elements[i+1:]...), ".")
		}
	}
	return strings.Join(elements, ".")
}

// refuseAmbiguous refuses an address without a feature in front.
func (ns *Namespace) refuseAmbiguous(path string, sc *Scope) *Error {
	readable := sc.phase.Features
	why := fmt.Sprintf("phase %q has no feature of its own", sc.phase.Name)
	if n := len(readable); n > 0 {
		names := plans.Names(readable, func(f *plans.Feature) string { return f.Name })
		why = fmt.Sprintf("this gate decides on %d features (%s)", n, listed(names))
	} else {
		for _, f := range ns.plan.Features() {
			if ns.before(sc, f.Phase) {
				readable = append(readable, f)
			}
		}
	}
	if len(readable) == 0 {
		return Wrong("whose-value", "Whose value?",
			"No feature is decided before this gate, so its rules have nothing to read. A phase of steps needs no "+
				"gate: it passes when they do. Remove the gate, or list the earlier phases in after.")
	}
	name, rest := readable[0].Name, path
	if head, tail, _ := strings.Cut(path, "."); ns.Features[head] != nil {
		name, rest = head, tail
	}
	return Wrong("whose-value", "Whose value?", "%q needs a feature, because %s: write feature[%q].%s.", path, why,
		name, rest)
}

// feature resolves feature["name"].….
func (ns *Namespace) feature(in *plans.Input, path []string, sc *Scope) (*plans.Input, *Error) {
	if sc.Criterion {
		return nil, Wrong("whose-value", "Criterion reads another feature",
			"A criterion can only read its own feature, by bare names; compare features in the phase's gate.")
	}
	if len(path) < 3 {
		return nil, incomplete(`feature["name"].verdict, .accepted, .decided or a metric such as .chat.tg.gain`)
	}
	f := ns.Features[path[1]]
	if f == nil {
		return nil, unknown("unknown-reference", "Unknown feature", "The plan has no feature", path[1],
			lang.KeysOf(ns.Features))
	}
	if !ns.before(sc, f.Phase) {
		return nil,
			Wrong("whose-value", "Feature not decided before this gate",
				"Feature %q is in phase %q, which this phase does not come after. Add ‹after = [phase.%s]›, or move "+
					"the rule to a later gate.", f.Name, f.Phase, f.Phase)
	}
	return ns.ofFeature(in, path[2:], f)
}

// ofFeature resolves what follows feature["name"], or a bare name.
func (ns *Namespace) ofFeature(in *plans.Input, rest []string, f *plans.Feature) (*plans.Input, *Error) {
	in.Feature = f.Name
	switch head := rest[0]; head {
	case "verdict", "accepted", "decided":
		if !strings.HasPrefix(in.Path, "feature[") {
			return nil, Wrong("whose-value", "Whose value?", "Write feature[%q].%s.", f.Name, head)
		}
		ty := plans.BoolInput
		if head == "verdict" {
			ty = plans.WordInput
		}
		return single(in, plans.InputFeature, head, ty, rest[1:])
	case "knob":
		switch {
		case len(rest) < 2:
			return nil, incomplete("knob.<name>", lang.KeysOf(ns.Knobs)...)
		case ns.Knobs[rest[1]] == nil:
			return nil,
				unknown("unknown-reference", "Unknown knob", "The plan has no knob", rest[1], lang.KeysOf(ns.Knobs))
		}
		return single(in, plans.InputKnob, rest[1], plans.WordInput, rest[2:])
	case "engine":
		return ns.engine(in, rest)
	case "levels", plans.CommandKind, "gpu", "host":
		return ns.ofLaunch(in, rest, f.Protocol, ns.plan.CommandEngine())
	case "quality":
		return nil,
			Wrong("invalid-address", "Unknown address",
				"Level \"correctness\" compares answers with the parent's: write levels.correctness.kl, "+
					".argmax_match, .agreement or .perplexity.")
	case "kernels":
		return nil,
			Wrong("not-measured", "Not measured by this version",
				"This version does not measure %s.*, so a rule on it could never pass. To check the kernels, write "+
					"levels.kernels == 'pass'.", head)
	default:
		if _, ok := ns.Cells[head]; ok {
			return ns.workload(in, rest, f)
		}
		if len(rest) > 1 && slices.Contains([]string{"var", "local", "each"}, head) {
			path := strings.Join(rest, ".")
			return nil,
				Wrong("invalid-address", "Unknown name in a rule",
					"A rule only names measured values. Interpolate values of the plan: write \"${%s}\" in place of "+
						"%s.", path, path)
		}
		names := append(plans.Names(ns.plan.Workloads, func(w *plans.Workload) string { return w.Name }), "engine",
			"gpu", "host", "levels", "knob", "target", "imported", "feature")
		if ns.plan.CommandEngine() != nil {
			names = append(names, plans.CommandKind)
		}
		return nil,
			Wrong("invalid-address", "Unknown name in a rule",
				"%q is neither a workload nor one of engine, gpu, host, levels, knob, target, imported, feature. A "+
					"metric follows one of these, and base or root follows the metric, as in chat.tg.base.%s", head,
				lang.DidYouMean(head, names))
	}
}

// Scope is the place of a rule.
type Scope struct {
	// Own is the feature that bare names belong to; nil when there is none.
	Own *plans.Feature
	// Criterion is true in a feature, false in a gate.
	Criterion bool
	phase     *plans.Phase
	// earlier are the phases before it, found when one is asked for.
	earlier map[string]bool
}

func (ns *Namespace) GateScope(ph *plans.Phase) *Scope {
	sc := &Scope{phase: ph}
	if len(ph.Features) == 1 {
		sc.Own = ph.Features[0]
	}
	return sc
}

// before reports whether the content of a phase is decided when the gate is: it is the
// gate's phase or one before it, directly or not.
func (ns *Namespace) before(sc *Scope, phase string) bool {
	if sc.phase == nil || phase == sc.phase.Name {
		return true
	}
	if sc.earlier == nil {
		sc.earlier = map[string]bool{}
		for open := []*plans.Phase{sc.phase}; len(open) > 0; open = open[1:] {
			for _, name := range slices.Concat(open[0].After, open[0].AfterDecided) {
				if ph := ns.Phases[name]; ph != nil && !sc.earlier[name] {
					sc.earlier[name] = true
					open = append(open, ph)
				}
			}
		}
	}
	return sc.earlier[phase]
}
