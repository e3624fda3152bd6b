package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// Part is a block inside an engine or a knob value whose shape is declared
// outside this package: a launcher, an observation, a source revision.
type Part struct {
	Schema
	// Label says what the block's label names; empty where it has none.
	Label string
	Times Times
	// Launcher says that the block is how the engine is launched. An engine has
	// one of these or a process block.
	Launcher bool
	// Extends says what the block adds to the kind of its engine; nil adds nothing.
	Extends func(*Block) Extension
	// AddsSettings says that Settings may be among that: where the block stands,
	// a description cannot list all that settings accepts.
	AddsSettings bool
}

// Extension is what a block adds to the kind of the engine that it stands in.
type Extension struct {
	Settings []Attr
	Observed []Observed
}

// doc describes the part as a block of the language.
func (p Part) doc(kind string) *BlockDoc {
	d := &BlockDoc{Type: kind, Times: p.Times, Doc: p.Doc, Attrs: p.Attrs, Example: p.Example, AddsSettings: p.AddsSettings}
	if p.Label != "" {
		d.Labels = []Label{{Name: "name", Doc: p.Label}}
	}
	return d
}

// withParts is a copy of d with parts after its own blocks.
func (d *BlockDoc) withParts(parts map[string]Part) *BlockDoc {
	c := *d
	c.Blocks = append([]*BlockDoc(nil), d.Blocks...)
	for _, kind := range keysOf(parts) {
		c.Blocks = append(c.Blocks, parts[kind].doc(kind))
	}
	return &c
}

// partSchema is what d and parts accept together, in HCL's terms.
func (l *loader) partSchema(d *BlockDoc, parts map[string]Part) *hcl.BodySchema {
	key := "with parts " + d.Type
	if l.schemas[key] == nil {
		l.schemas[key] = d.withParts(parts).schema()
	}
	return l.schemas[key]
}

// decodeParts reads the declared blocks in f, by kind, in the order of the plan.
func (l *loader) decodeParts(f *body, parts map[string]Part) map[string][]*Block {
	var out map[string][]*Block
	lines := map[string]int{}
	for _, b := range f.blocks {
		part, ok := parts[b.Type]
		if !ok {
			continue
		}
		what := b.Type
		if part.Label != "" {
			what = fmt.Sprintf("%s %q", b.Type, b.Labels[0])
			l.checkName(b, 0, inRules)
		}
		if line := lines[what]; line > 0 {
			l.fail(b.DefRange, "Duplicate "+b.Type+" block", "There can be one %s here; the first is on line %d. Merge or rename them.", what, line)
			continue
		}
		lines[what] = b.DefRange.Start.Line
		if out == nil {
			out = map[string][]*Block{}
		}
		out[b.Type] = append(out[b.Type], l.decodePart(b, part, what))
	}
	return out
}

func (l *loader) decodePart(b *hcl.Block, part Part, what string) *Block {
	block := l.decodeBody(b, b.Type, part.Schema, what)
	if part.Label != "" {
		block.Name = b.Labels[0]
	}
	return block
}

// launcherOf is the block of an engine that says how it is launched, nil where
// it is a process block or none. Two ways to launch are an error.
func (l *loader) launcherOf(f *body, e *Engine) *Block {
	var found *Block
	first := ""
	if e.Process != nil {
		first = "process"
	}
	for _, b := range f.blocks {
		if !l.reg.EngineParts[b.Type].Launcher {
			continue
		}
		if first != "" && first != b.Type {
			l.fail(b.DefRange, "Two ways to launch", "Engine %s.%s has a %s and a %s block, and it is launched in one way. Remove one of them.", e.Kind, e.Name, first, b.Type)
			continue
		}
		first = b.Type
		if parts := e.Parts[b.Type]; found == nil && len(parts) > 0 {
			found = parts[0]
		}
	}
	return found
}
