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
var referable = []string{"engine", "feature", "knob", "phase", "protocol", "target", "workload"}

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
	"engine": 200, "feature": 10000, "knob": 1000, "local": 10000, "phase": 1000,
	"protocol": 1000, "target": 1000, "variable": 1000, "workload": 1000,
}

// declare notes a name and reports whether it is new.
func (l *loader) declare(kind, key string, b *hcl.Block, at hcl.Range) bool {
	n := l.symbols.of(kind)
	if first := n.byKey[key]; first != nil {
		l.fail(at, "Duplicate "+kind, "The %s %q is already declared on line %d. Names are unique; rename or remove one.", kind, key, first.at.Start.Line)
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
	*fields
	block    *hcl.Block
	features []*featureBlock
	first    bool
}

type featureBlock struct {
	block *hcl.Block
	first bool
}

// declareAll is the first pass: every name, before any body is evaluated.
func (l *loader) declareAll(blocks hcl.Blocks) []*phaseBlock {
	var phases []*phaseBlock
	for _, b := range blocks {
		switch b.Type {
		case "plan", "locals", "baseline":
		case "engine":
			l.declareEngine(b)
		case "phase":
			phases = append(phases, l.declarePhase(b))
		case "workload":
			l.checkName(b, 0, inRules|firstInRules)
			l.declare(b.Type, b.Labels[0], b, b.LabelRanges[0])
		case "target":
			l.checkName(b, 0, inRules)
			l.declare(b.Type, b.Labels[0], b, b.LabelRanges[0])
		default:
			l.checkName(b, 0, 0)
			l.declare(b.Type, b.Labels[0], b, b.LabelRanges[0])
		}
	}
	return phases
}

func (l *loader) declareEngine(b *hcl.Block) {
	kind, name := b.Labels[0], b.Labels[1]
	if _, known := l.reg.Engines[kind]; !known {
		l.fail(b.LabelRanges[0], "Unknown engine kind", "There is no engine kind %q.%s", kind, l.didYouMean(kind, keysOf(l.reg.Engines)))
	}
	l.checkName(b, 1, 0)
	l.declare("engine", kind+"."+name, b, b.LabelRanges[1])
}

func (l *loader) declarePhase(b *hcl.Block) *phaseBlock {
	l.checkName(b, 0, inRules)
	ph := &phaseBlock{block: b, first: l.declare("phase", b.Labels[0], b, b.LabelRanges[0])}
	ph.fields = l.fields(b, phaseSchema, fmt.Sprintf("phase %q", b.Labels[0]))
	for _, fb := range ph.blocks {
		if fb.Type != "feature" {
			continue
		}
		l.checkName(fb, 0, inRules)
		first := l.declare("feature", fb.Labels[0], fb, fb.LabelRanges[0])
		ph.features = append(ph.features, &featureBlock{fb, first})
	}
	return ph
}

// first reports whether b is the block that its name belongs to; a duplicate is
// decoded for its mistakes and then dropped.
func (l *loader) first(b *hcl.Block) bool {
	n := l.symbols[b.Type]
	if n == nil {
		return false
	}
	s := n.byKey[strings.Join(b.Labels, ".")]
	return s != nil && s.block == b
}
