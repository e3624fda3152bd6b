// Package runtime turns a plan into a graph of nodes, runs them in order, and
// keeps their outcomes. It does not know what a step is: it asks for a Step and
// gets an outcome. A node that failed (the rule says no) is a value; an error
// means that something broke.
//
// The package shares the standard library's name on purpose; import that one as
// goruntime where both are needed.
package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Kind is what a node decides. The ledger accepts decisions of these kinds only.
type Kind string

const (
	// KindQualify: the one launch that earns a variant the right to be measured.
	KindQualify Kind = ledger.KindQualify
	// KindBenchmark: interleaved launches of a candidate and the arms it is compared
	// with.
	KindBenchmark Kind = ledger.KindBenchmark
	// KindFeature: a feature's criteria, and whether it enters the stack.
	KindFeature Kind = ledger.KindFeature
	// KindCriteria: a feature's criteria on one engine, if it is confirmed on others
	// before it is decided.
	KindCriteria Kind = ledger.KindCriteria
	// KindStep: a command or another piece of work that the plan declares.
	KindStep Kind = ledger.KindStep
	// KindGate: a phase's exit rule.
	KindGate Kind = ledger.KindGate
	// KindPhase: the join of a phase that has no gate.
	KindPhase Kind = ledger.KindPhase
)

// Mode is what a node needs of another one.
type Mode int

const (
	// Passed: its verdict must unlock.
	Passed Mode = iota
	// Decided: it must be decided, either way.
	Decided
	// Ended: it must have an outcome, whichever it is.
	Ended
	// Settled: it must have ended, or be permanently locked.
	Settled
)

type Need struct {
	On   string
	Mode Mode
}

type Node struct {
	// ID is the node's address: "baseline", "phase.cutlass",
	// "feature.gemm.benchmark".
	ID    string
	Kind  Kind
	Phase string
	// Feature is the feature's name, empty elsewhere.
	Feature string
	Needs   []Need
	// Order is the position in the deterministic total order.
	Order int

	// What the node was made from; nil if not applicable.
	PhaseBlock   *plans.Phase
	FeatureBlock *plans.Feature
	StepBlock    *plans.Block
}

// Graph is the nodes of a plan in a deterministic topological order.
type Graph struct {
	Nodes []*Node
	byID  map[string]*Node
	// siblings are the groups measured in one session, by the name of each member, and of
	// the feature that an alternative may become.
	siblings map[string][]*plans.Feature
}

// Node finds a node by its address; nil if there is none.
func (g *Graph) Node(id string) *Node { return g.byID[id] }

// NewGraph builds the graph of a checked plan. A cycle is an error: Load reports cycles
// with their position, so reaching one here is a bug in mxflow.
func NewGraph(p *plans.Plan) (*Graph, error) {
	b := &builder{plan: p, g: &Graph{byID: map[string]*Node{}, siblings: map[string][]*plans.Feature{}}}
	phases, err := phaseOrder(p)
	if err != nil {
		return nil, err
	}
	if p.Baseline != nil {
		b.add(&Node{ID: BaselineID, Kind: KindQualify, Needs: beforeBaseline(p, phases)})
	}
	for _, ph := range phases {
		b.phase(ph)
	}
	if err := b.g.sort(); err != nil {
		return nil, err
	}
	return b.g, nil
}

// sort puts nodes into topological order, each after what it needs and otherwise as they
// were added, and numbers them.
func (g *Graph) sort() error {
	const open, done = 1, 2
	state := map[*Node]int{}
	out := make([]*Node, 0, len(g.Nodes))
	var visit func(n *Node) error
	visit = func(n *Node) error {
		switch state[n] {
		case open:
			return fmt.Errorf("node %s needs itself", n.ID)
		case done:
			return nil
		}
		state[n] = open
		for _, need := range n.Needs {
			on := g.byID[need.On]
			if on == nil {
				return fmt.Errorf("node %s needs %s, which does not exist", n.ID, need.On)
			}
			if err := visit(on); err != nil {
				return err
			}
		}
		state[n], n.Order = done, len(out)
		out = append(out, n)
		return nil
	}
	for _, n := range g.Nodes {
		if err := visit(n); err != nil {
			return err
		}
	}
	g.Nodes = out
	return nil
}

// maxSiblings limits the candidates of one session. A round launches each of them once,
// and launches of one round count as made under the same conditions: the longer it takes,
// the less true that is. The alternatives of one feature stay together, however many
// there are.
const maxSiblings = 8

// Siblings are the features whose benchmarks may share a session with f's, f included, in
// graph order: those of the same phase measured against the same parent, by the same
// protocol, on the same engine. A feature that chooses is replaced by its alternatives,
// also for f. A feature that builds on what has been accepted has its own parent, shared
// only by the alternatives of one feature, and so has a confirmation.
func (g *Graph) Siblings(f *plans.Feature) []*plans.Feature {
	if group := g.siblings[f.Name]; group != nil {
		return group
	}
	return []*plans.Feature{f}
}

// sessions groups the candidates of a phase that may be measured in one session.
func sessions(ph *plans.Phase) [][]*plans.Feature {
	if ph == nil {
		return nil
	}
	var out [][]*plans.Feature
	// open is the index in out of each key's group that is not full.
	open := map[[4]string]int{}
	for _, f := range byPriority(ph.Features) {
		parent := string(f.BuildsOn.Kind)
		if f.BuildsOn.Kind == plans.OnAccepted {
			parent += " under " + f.Name
		}
		key := [4]string{parent, f.BuildsOn.Feature, f.Protocol, f.Engine}
		candidates := Candidates(f)
		at, ok := open[key]
		if !ok || len(out[at])+len(candidates) > maxSiblings {
			at = len(out)
			open[key] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], candidates...)
	}
	return out
}

// Candidates are the variants that a feature tests: its alternatives if it chooses,
// otherwise itself.
func Candidates(f *plans.Feature) []*plans.Feature {
	if len(f.Alternatives) > 0 {
		return f.Alternatives
	}
	return []*plans.Feature{f}
}

// Parts of the addresses of a feature's nodes.
const (
	featurePart   = "feature."
	qualifyPart   = ".qualify"
	benchmarkPart = ".benchmark"
	firstPart     = ".first"
)

// BaselineID is the node that qualifies the baseline.
const BaselineID = ledger.Baseline

// PhaseID is the node that unlocks what comes after a phase.
func PhaseID(phase string) string { return "phase." + phase }

func StepID(phase, kind, name string) string {
	return fmt.Sprintf("phase.%s.step.%s.%s", phase, kind, name)
}

// FeatureID is the node that decides a feature's criteria.
func FeatureID(feature string) string { return featurePart + feature }

func QualifyID(feature string) string   { return FeatureID(feature) + qualifyPart }
func BenchmarkID(feature string) string { return FeatureID(feature) + benchmarkPart }

// FirstID is the node that decides a feature's criteria on the baseline's engine, if
// others confirm them.
func FirstID(feature string) string { return FeatureID(feature) + firstPart }

// CandidateOf is the feature, alternative or confirmation that a node is about, by its
// address; empty if there is none. Names may contain dots.
func CandidateOf(id string) string {
	name, ok := strings.CutPrefix(id, featurePart)
	if !ok {
		return ""
	}
	for _, part := range []string{qualifyPart, benchmarkPart, firstPart} {
		if of, ok := strings.CutSuffix(name, part); ok {
			return of
		}
	}
	return name
}

// beforeBaseline are the phases that the baseline waits for: those with only steps that
// every phase with features comes after, by after alone. Nothing could be measured before
// they pass, and they may make what the baseline is started from: an image, a branch, a
// build.
func beforeBaseline(p *plans.Plan, order []*plans.Phase) []Need {
	if p.Baseline == nil {
		return nil
	}
	if !slices.ContainsFunc(order, func(ph *plans.Phase) bool { return preparation(p, ph) }) {
		return nil
	}
	counts, featured := map[string]int{}, 0
	for _, ph := range order {
		if len(ph.Features) == 0 {
			continue
		}
		featured++
		for name := range phasesBefore(p, ph) {
			counts[name]++
		}
	}
	var needs []Need
	for _, ph := range order {
		if featured > 0 && counts[ph.Name] == featured && preparation(p, ph) {
			needs = append(needs, Need{PhaseID(ph.Name), Passed})
		}
	}
	return needs
}

// preparation phases have only steps, and come only after such phases: neither they nor
// what they wait for can need the baseline. A gate may.
func preparation(p *plans.Plan, ph *plans.Phase) bool {
	only := func(ph *plans.Phase) bool {
		return len(ph.Steps) > 0 && len(ph.Features) == 0 && ph.Gate == nil && len(ph.AfterDecided) == 0
	}
	if !only(ph) {
		return false
	}
	for name := range phasesBefore(p, ph) {
		if other := p.Phase(name); other == nil || !only(other) {
			return false
		}
	}
	return true
}

// phasesBefore are the phases that must have passed before a phase may start.
func phasesBefore(p *plans.Plan, ph *plans.Phase) map[string]bool {
	before := map[string]bool{}
	var visit func(ph *plans.Phase)
	visit = func(ph *plans.Phase) {
		for _, name := range ph.After {
			if other := p.Phase(name); other != nil && !before[name] {
				before[name] = true
				visit(other)
			}
		}
	}
	visit(ph)
	return before
}

// feature adds the qualification and the benchmark of each candidate, the decision on the
// criteria, and before it the confirmations on other engines.
func (b *builder) feature(ph *plans.Phase, f *plans.Feature, entry []Need) {
	var below []Need
	switch f.BuildsOn.Kind {
	case plans.OnFeature:
		// A parent that was never run has no variant to build on.
		below = []Need{{FeatureID(f.BuildsOn.Feature), Ended}}
	case plans.OnAccepted:
		below = b.settled
	}
	needs := slices.Concat(entry, []Need{{BaselineID, Passed}}, below)
	decide := Node{
		ID: FeatureID(f.Name), Kind: KindFeature, Phase: ph.Name, Feature: f.Name,
		FeatureBlock: f, PhaseBlock: ph, Needs: slices.Clone(needs),
	}
	for _, c := range Candidates(f) {
		decide.Needs = append(decide.Needs, b.measure(decide, c, needs, b.g.siblings[c.Name]))
	}
	if len(f.Confirm) > 0 {
		decide.Needs = append(needs[:len(needs):len(needs)], b.confirm(decide, f, needs)...)
	}
	b.add(&decide)
	b.settled = append(b.settled, Need{decide.ID, Settled})
}

// measure adds the nodes that measure one candidate of the feature that a node decides,
// and returns that node's needs.
func (b *builder) measure(of Node, c *plans.Feature, needs []Need, siblings []*plans.Feature) Need {
	qualify := of
	qualify.ID, qualify.Kind, qualify.FeatureBlock = QualifyID(c.Name), KindQualify, c
	qualify.Needs = needs
	b.add(&qualify)
	if protocol := b.plan.Protocol(c.Protocol); protocol == nil || protocol.Level(plans.BenchmarkLevel) == nil {
		return Need{qualify.ID, Settled}
	}
	bench := qualify
	bench.ID, bench.Kind = BenchmarkID(c.Name), KindBenchmark
	// The benchmark of an unqualified variant is recorded as invalid with the root cause,
	// so it waits for the end and not for a pass. It waits for its siblings' too: which
	// of them share its session must be known before it starts.
	bench.Needs = slices.Concat(needs, []Need{{qualify.ID, Settled}})
	for _, other := range siblings {
		if other.Name != c.Name {
			bench.Needs = append(bench.Needs, Need{QualifyID(other.Name), Settled})
		}
	}
	b.add(&bench)
	return Need{bench.ID, Settled}
}

// confirm puts the decision on the first engine before those on the others, and returns
// the needs of the feature's own decision: all of them. A confirmation makes no launch
// unless the criteria passed on all engines before it.
func (b *builder) confirm(decide Node, f *plans.Feature, needs []Need) []Need {
	first := decide
	first.ID, first.Kind = FirstID(f.Name), KindCriteria
	b.add(&first)
	out := []Need{{first.ID, Settled}}
	passed := append(append([]Need(nil), needs...), Need{first.ID, Passed})
	for _, c := range f.Confirm {
		criteria := decide
		criteria.ID, criteria.Kind, criteria.FeatureBlock = FeatureID(c.Name), KindCriteria, c
		criteria.Needs = append(append([]Need(nil), passed...), b.measure(decide, c, passed, nil))
		b.add(&criteria)
		out = append(out, Need{criteria.ID, Settled})
		passed = append(passed[:len(passed):len(passed)], Need{criteria.ID, Passed})
	}
	return out
}
