// Package lang is the language of plans as data and as text: which blocks and attributes
// there are (BlockDoc, from which manual and JSON Schema are made), how a file in HCL or
// YAML is parsed within limits, and how mistakes are collected, coded and shown. It does
// not know what any block means, and evaluates nothing.
package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/yamlbody"
)

// DynamicType is the block that makes other blocks; it may be in any block.
const DynamicType = "dynamic"

// BlockDoc describes one block of the plan language as data, which everything that knows
// the shape of a plan is made from: what decoders accept, the reference in docs/, and the
// JSON Schema that editors use.
type BlockDoc struct {
	// Type is the block's keyword; empty for a plan file as a whole.
	Type   string
	Labels []Label
	Doc    string
	Times  plans.Times
	Attrs  []plans.Attr
	// Open describes attributes of any name, if the block takes such.
	Open   *plans.Attr
	Blocks []*BlockDoc
	// Repeats means that the block may be generated with for_each.
	Repeats bool
	// Kinds are the bodies that the first label chooses between, nil if all have the same
	// one.
	Kinds map[string]*BlockDoc
	// Settings are what the settings attribute accepts; nil is anything.
	Settings []plans.Attr
	// Example is a snippet that is valid wherever the block is allowed.
	Example string
}

// Label is a word in quotes between a block's keyword and its body.
type Label struct {
	Name, Doc string
	// Only are the kinds (first labels) whose blocks have it, sorted; nil if all do. All
	// other blocks are read as if it were empty.
	Only []string
}

// mayLack are the block types whose last label only some kinds have, with the number of
// labels of those that have all.
var mayLack = map[string]int{"level": 2}

// padded gives blocks that may lack their last label an empty one in its place, since HCL
// wants the same number from every block of a type; so it does to the labels that a
// dynamic block gives.
func padded(b *hclsyntax.Body) {
	for _, block := range b.Blocks {
		if n := mayLack[block.Type]; n > 1 && len(block.Labels) == n-1 {
			block.Labels = append(block.Labels, "")
			block.LabelRanges = append(block.LabelRanges, block.LabelRanges[n-2])
		}
		if labels := block.Body.Attributes["labels"]; labels != nil && block.Type == DynamicType &&
			len(block.Labels) == 1 {
			list, ok := labels.Expr.(*hclsyntax.TupleConsExpr)
			if n := mayLack[block.Labels[0]]; ok && n > 1 && len(list.Exprs) == n-1 {
				list.Exprs = append(list.Exprs,
					&hclsyntax.LiteralValueExpr{Val: cty.StringVal(""), SrcRange: list.SrcRange})
			}
		}
		padded(block.Body)
	}
}

// repeatAttrs are the attributes of a block that Repeats, besides its own.
var repeatAttrs = []plans.Attr{
	{
		Name: "for_each", Type: plans.Anything,
		Doc: "A map or list: one block per element. A list holds texts. In the block, `each.key` and `each.value` " +
			"are the element's.",
	},
	{
		Name: "name", Type: plans.String,
		Doc: "Name of each block, as in `\"llama_${each.key}\"`. Without it, the label, an underscore and the key.",
	},
}

// dynamicText describes dynamic blocks, which may be in every block that contains blocks.
const dynamicText = "Generates nested blocks: dynamic \"type\" { for_each = …, content { … } }. In content, " +
	"`type.value` and `type.key` are the element."

// RepeatAttrs are the attributes that generate a block more than once; none if it does
// not repeat.
func (d *BlockDoc) RepeatAttrs() []plans.Attr {
	if !d.Repeats {
		return nil
	}
	return repeatAttrs
}

// Attr is the attribute of a name, nil if the block has none.
func (d *BlockDoc) Attr(name string) *plans.Attr {
	for i := range d.Attrs {
		if d.Attrs[i].Name == name {
			return &d.Attrs[i]
		}
	}
	return nil
}

// Block is the nested block of a type, nil if there is none.
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
func (d *BlockDoc) Walk(visit func(path string, d *BlockDoc)) {
	var walk func(path string, d *BlockDoc)
	walk = func(path string, d *BlockDoc) {
		visit(path, d)
		for _, kind := range KeysOf(d.Kinds) {
			visit(join(path, kind), d.Kinds[kind])
		}
		for _, b := range d.Blocks {
			walk(join(path, b.Type), b)
		}
	}
	walk("", d)
}

// Schema is the description in HCL's terms. Required attributes are left to the decoders,
// which explain what the attribute is for.
func (d *BlockDoc) Schema() *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range d.Attrs {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, b := range d.Blocks {
		h := hcl.BlockHeaderSchema{Type: b.Type}
		for _, label := range b.Labels {
			h.LabelNames = append(h.LabelNames, yamlbody.LabelOf(label.Name, label.Only))
		}
		s.Blocks = append(s.Blocks, h)
	}
	return s
}

// TypesWith are the types of the blocks in d, at any depth, that have an attribute or a
// block of that name, sorted.
func (d *BlockDoc) TypesWith(name string) (types []string) {
	if d == nil {
		return nil
	}
	for _, b := range d.Blocks {
		if b.Attr(name) != nil || slices.ContainsFunc(b.Blocks, func(in *BlockDoc) bool { return in.Type == name }) {
			types = append(types, b.Type)
		}
		types = append(types, b.TypesWith(name)...)
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// With is a copy of d and all in it, with the kinds of a registry filled in.
func (d *BlockDoc) With(reg *plans.Registry) *BlockDoc {
	c := *d
	c.Attrs = append([]plans.Attr(nil), d.Attrs...)
	c.Blocks = nil
	for _, b := range d.Blocks {
		c.Blocks = append(c.Blocks, b.With(reg))
	}
	switch d.Type {
	case "value":
		return c.WithParts(reg.ValueParts)
	case "level":
		c.Labels = slices.Clone(d.Labels)
		only := []string{} // the kinds whose blocks have a name
		for _, kind := range KeysOf(reg.Levels) {
			if reg.Levels[kind].Label != "" {
				only = append(only, kind)
			}
		}
		c.Labels[len(c.Labels)-1].Only = only
		c.kindsOf(reg.Levels)
	case "step":
		c.kindsOf(reg.Steps)
	case "engine":
		c.Blocks, c.Kinds = c.WithParts(reg.EngineParts).Blocks, map[string]*BlockDoc{}
		for name, kind := range reg.Engines {
			body := c
			body.Kinds, body.Doc, body.Settings, body.Example = nil, kind.Doc, kind.Settings, kind.Example
			c.Kinds[name] = &body
		}
	}
	return &c
}

func (d *BlockDoc) kindsOf(schemas map[string]plans.Schema) {
	d.Kinds = map[string]*BlockDoc{}
	for name, s := range schemas {
		body := &BlockDoc{Type: d.Type, Times: d.Times, Doc: s.Doc, Attrs: s.Attrs, Example: s.Example}
		for _, label := range d.Labels {
			if label.Only == nil || slices.Contains(label.Only, name) {
				body.Labels = append(body.Labels, label)
			}
		}
		d.Kinds[name] = body.WithParts(s.Parts)
	}
}

// WithParts is a copy of d with parts after its own blocks.
func (d *BlockDoc) WithParts(parts map[string]plans.Part) *BlockDoc {
	c := *d
	c.Blocks = slices.Clone(d.Blocks)
	for _, kind := range KeysOf(parts) {
		p := parts[kind]
		b := &BlockDoc{Type: kind, Times: p.Times, Doc: p.Doc, Attrs: p.Attrs, Example: p.Example}
		if p.Label != "" {
			b.Labels = []Label{{Name: "name", Doc: p.Label}}
		}
		c.Blocks = append(c.Blocks, b)
	}
	return &c
}
