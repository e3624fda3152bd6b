package plans

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
)

// BlockDoc describes one block of the plan language as data. It is declared in
// the block's own file, beside struct and decoder, and everything that knows the
// shape of a plan is made from it: what decoders accept, the reference in docs/,
// and the JSON Schema that editors use.
type BlockDoc struct {
	// Type is the block's keyword; empty for a plan file as a whole.
	Type   string
	Labels []Label
	Doc    string
	Times  Times
	Attrs  []Attr
	// Open describes attributes of any name, where the block takes such.
	Open   *Attr
	Blocks []*BlockDoc
	// Repeats says that the block may be generated with for_each or count.
	Repeats bool
	// Kinds are the bodies that the first label chooses between, nil where all
	// have the same one.
	Kinds map[string]*BlockDoc
	// Settings are what the settings attribute accepts; nil is anything.
	Settings []Attr
	// AddsSettings says that the block makes the engine that it stands in accept
	// further settings.
	AddsSettings bool
	// Example is a snippet that is valid where the block may stand.
	Example string
}

// Label is a word in quotes between a block's keyword and its body.
type Label struct{ Name, Doc string }

// Times is how often a block may stand in its place, in words.
type Times string

const (
	Once     Times = "exactly one"
	AtMost1  Times = "at most one"
	AtLeast1 Times = "at least one"
	AnyTimes Times = "any number"
)

// repeatAttrs are the attributes of a block that Repeats, beside its own.
var repeatAttrs = []Attr{
	{Name: "for_each", Type: Anything, Doc: "A map, or a list of texts: one block is made for each element, with `each.key` and `each.value` in it."},
	{Name: "count", Type: Int, MinSet: true, Max: 1000, Doc: "How many blocks are made, with `count.index` in each."},
	{Name: "name", Type: String, Doc: "What each block is called, as in `\"llama_${each.key}\"`. Without it, the label, an underscore and the key."},
}

// dynamicText describes dynamic blocks, which may stand in every block that has
// blocks in it.
const dynamicText = "Generates blocks inside another one: dynamic \"type\" { for_each = …, content { … } }. In content, `type.value` and `type.key` are the element."

// RepeatAttrs are the attributes that generate a block more than once; none
// where it does not repeat.
func (d *BlockDoc) RepeatAttrs() []Attr {
	if !d.Repeats {
		return nil
	}
	return repeatAttrs
}

// Attr is the attribute of a name, nil where the block has none such.
func (d *BlockDoc) Attr(name string) *Attr {
	for i := range d.Attrs {
		if d.Attrs[i].Name == name {
			return &d.Attrs[i]
		}
	}
	return nil
}

// Block is the nested block of a type, nil where there is none such.
func (d *BlockDoc) Block(kind string) *BlockDoc {
	for _, b := range d.Blocks {
		if b.Type == kind {
			return b
		}
	}
	return nil
}

// Walk visits d and all blocks in it, each with the keywords that lead to it.
// The bodies that a label chooses between are visited as path "level.smoke".
func (d *BlockDoc) Walk(visit func(path string, d *BlockDoc)) { d.walk("", visit) }

func (d *BlockDoc) walk(path string, visit func(string, *BlockDoc)) {
	visit(path, d)
	if path != "" {
		path += "."
	}
	for _, kind := range keysOf(d.Kinds) {
		visit(path+kind, d.Kinds[kind])
	}
	for _, b := range d.Blocks {
		b.walk(path+b.Type, visit)
	}
}

// schema is the description in HCL's terms. What is required is left to the
// decoders, which say what the attribute is for.
func (d *BlockDoc) schema() *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range d.Attrs {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, b := range d.Blocks {
		header := hcl.BlockHeaderSchema{Type: b.Type}
		for _, label := range b.Labels {
			header.LabelNames = append(header.LabelNames, label.Name)
		}
		s.Blocks = append(s.Blocks, header)
	}
	return s
}

// Describe is the whole language: the blocks of this package with the levels,
// steps and engine kinds of reg in their places. The result may be changed.
func Describe(reg *Registry) *BlockDoc {
	if reg == nil {
		reg = &Registry{}
	}
	return fileDoc.with(reg)
}

// with is a copy of d and all in it, with the kinds of a registry filled in.
func (d *BlockDoc) with(reg *Registry) *BlockDoc {
	c := *d
	c.Attrs = append([]Attr(nil), d.Attrs...)
	c.Blocks = nil
	for _, b := range d.Blocks {
		c.Blocks = append(c.Blocks, b.with(reg))
	}
	switch d.Type {
	case "value":
		c.Blocks = c.withParts(reg.ValueParts).Blocks
	case "level":
		c.Kinds = kindsOf(d, reg.Levels)
	case "step":
		c.Kinds = kindsOf(d, reg.Steps)
	case "engine":
		c.Blocks = c.withParts(reg.EngineParts).Blocks
		c.Kinds = map[string]*BlockDoc{}
		for name, kind := range reg.Engines {
			body := c
			body.Kinds, body.Doc, body.Settings, body.Example = nil, kind.Doc, kind.Settings, kind.Example
			if kind.NeedsProcess && !hasLauncher(reg.EngineParts) {
				body.Blocks = append([]*BlockDoc(nil), c.Blocks...)
				for i, b := range body.Blocks {
					if b.Type == "process" {
						required := *b
						required.Times = Once
						body.Blocks[i] = &required
					}
				}
			}
			c.Kinds[name] = &body
		}
	}
	return &c
}

// hasLauncher reports whether one of the parts may stand in place of a process.
func hasLauncher(parts map[string]Part) bool {
	for _, p := range parts {
		if p.Launcher {
			return true
		}
	}
	return false
}

func kindsOf(d *BlockDoc, schemas map[string]Schema) map[string]*BlockDoc {
	kinds := map[string]*BlockDoc{}
	for name, s := range maps.All(schemas) {
		kinds[name] = &BlockDoc{
			Type: d.Type, Labels: d.Labels, Times: d.Times, Doc: s.Doc, Attrs: s.Attrs, Example: s.Example,
		}
	}
	return kinds
}
