package plans

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// symbol is a name that a plan declares.
type symbol struct {
	key string
	at  hcl.Range
	// block is the first block of that name.
	block *hcl.Block
}

// names are the declarations of one block type by key, and in order.
type names struct {
	byKey map[string]*symbol
	order []string
}

// symbols are the names by block type: "workload", "feature", "local".
type symbols map[string]*names

// referable are the block types that an expression may refer to.
var referable = []string{"engine", "feature", "imported", "knob", "phase", "protocol", "suite", "target", "workload"}

func (s symbols) of(block string) *names {
	n := s[block]
	if n == nil {
		n = &names{byKey: map[string]*symbol{}}
		s[block] = n
	}
	return n
}

func (s symbols) has(block, key string) bool {
	n := s[block]
	return n != nil && n.byKey[key] != nil
}

// limits on how many blocks of a kind make a plan, far above what anyone needs
// and low enough for everything that looks at pairs of them.
var limits = map[string]int{
	"engine": 200, "feature": 10000, "imported": 100, "knob": 1000, "local": 10000, "phase": 1000,
	"protocol": 1000, "suite": 100, "target": 1000, "variable": 1000, "workload": 1000,
}

// declare notes a name and reports whether it is new.
func (l *loader) declare(kind, key string, b *hcl.Block, at hcl.Range) bool {
	n := l.symbols.of(kind)
	if first := n.byKey[key]; first != nil {
		l.fail(at, "Duplicate "+kind, "The %s %q is already declared %s. Names are unique; rename or remove one.", kind, key, seenAt(first.at, at))
		return false
	}
	if limit := limits[kind]; limit > 0 && len(n.order) == limit {
		l.fail(at, "Too many of one kind", "A plan has up to %d declarations of kind %s. Split the effort into several plans.", limit, kind)
		l.unordered = true
	}
	n.byKey[key] = &symbol{key: key, at: at, block: b}
	n.order = append(n.order, key)
	return true
}

// phaseBlock is a phase whose body has been opened, so that its features are
// known before anything refers to them.
type phaseBlock struct {
	*body
	block    *hcl.Block
	features []*featureBlock
	first    bool
}

type featureBlock struct {
	*instance
	first bool
}

// declareNames is the first pass: the names of variables, which no expression
// can change.
func (l *loader) declareNames(all hcl.Blocks) {
	for _, b := range all.OfType("variable") {
		l.checkName(b, 0, 0)
		l.declare(b.Type, b.Labels[0], b, b.LabelRanges[0])
	}
}

// nameUses says where rules use the names of a block type.
var nameUses = map[string]nameUse{
	"workload": inRules | firstInRules, "target": inRules, "imported": inRules, "phase": inRules, "feature": inRules,
}

// declareGroup declares what one block has made.
func (l *loader) declareGroup(g *group) {
	b := g.block
	if g.kind == "engine" {
		if _, known := l.reg.Engines[b.Labels[0]]; !known {
			l.fail(b.LabelRanges[0], "Unknown engine kind", "There is no engine kind %q.%s", b.Labels[0], l.didYouMean(b.Labels[0], keysOf(l.reg.Engines)))
		}
	}
	label := len(b.Labels) - 1
	if g.repeated() {
		l.checkName(b, label, 0)
		if first := l.groups.byKey(g.kind, g.key); first != g {
			l.fail(b.LabelRanges[label], "Duplicate "+g.kind, "The %s %q is already declared %s. Names are unique; rename or remove one.", g.kind, g.key, seenAt(first.block.LabelRanges[label], b.LabelRanges[label]))
		}
	}
	for _, i := range g.instances {
		l.checkName(i.block, label, nameUses[g.kind])
		first := l.declare(g.kind, strings.Join(i.block.Labels, "."), i.block, b.LabelRanges[label])
		ph := l.phases[i]
		if ph == nil {
			continue
		}
		ph.first = first
		for _, f := range ph.features {
			l.checkName(f.block, 0, inRules)
			f.first = l.declare("feature", f.block.Labels[0], f.block, f.block.LabelRanges[0])
		}
	}
}

// openPhase opens the body of a phase and makes its features.
func (l *loader) openPhase(i *instance) {
	b := i.block
	ph := &phaseBlock{block: b}
	l.phases[i] = ph
	if s := l.sources[b.DefRange.Filename]; s != nil && s.dynamic && !l.settling.expand(b.Body, phaseSchema) {
		l.doubt("feature")
		ph.body = l.fields(&hcl.Block{Type: b.Type, Labels: b.Labels, DefRange: b.DefRange, Body: hcl.EmptyBody()}, phaseSchema, "phase")
		return
	}
	ph.body = l.fields(b, phaseSchema, fmt.Sprintf("phase %q", b.Labels[0]))
	for _, fb := range ph.blocks.OfType("feature") {
		g := l.groups.byKey("feature", fb.Labels[0])
		if g == nil {
			g = &group{kind: "feature", key: fb.Labels[0], block: fb}
			l.groups.add(g)
		}
		for _, made := range l.instances(g, fb, i) {
			ph.features = append(ph.features, &featureBlock{instance: made})
			g.instances = append(g.instances, made)
		}
	}
}

// first reports whether b is the block that its name belongs to; a duplicate is
// decoded for its mistakes and then dropped.
func (l *evalScope) first(b *hcl.Block) bool {
	n := l.symbols[b.Type]
	if n == nil {
		return false
	}
	s := n.byKey[strings.Join(b.Labels, ".")]
	return s != nil && s.block == b
}
