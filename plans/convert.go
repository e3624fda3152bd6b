package plans

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ToYAML writes a plan file in HCL anew in YAML. It works on the text: nothing
// is evaluated, expressions are kept, and so are comments, beside what they
// stand at. The text has to be free of syntax errors, but need not be a valid
// plan; otherwise the result is nil and the diagnostics say where.
func ToYAML(filename string, src []byte, reg *Registry) ([]byte, *Findings) {
	if _, diag := checkSource(filename, src); diag != nil {
		return nil, problems(filename, src, diag)
	}
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, unread(filename, src, diags)
	}
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	w := &yamlWriter{src: src, tokens: tokens, comments: commentsOf(tokens)}
	out, err := w.file(file.Body.(*hclsyntax.Body), Describe(reg))
	if err != nil {
		return nil, problems(filename, src, sourceError(filename, startOf(filename), "Cannot write this in YAML", err.Error()))
	}
	return out, nil
}

// ToHCL writes a plan file in YAML anew in HCL, as ToYAML does the other way.
// What aliases and merges name is written out.
func ToHCL(filename string, src []byte, reg *Registry) ([]byte, *Findings) {
	s := &source{name: filename, text: src}
	if diag := checkText(filename, src); diag != nil {
		return nil, problems(filename, src, diag)
	}
	root, diags := s.parseTree()
	if diags.HasErrors() {
		return nil, unread(filename, s.text, diags)
	}
	w := &hclWriter{}
	out := w.file(root, Describe(reg))
	if w.diags.HasErrors() {
		return nil, problems(filename, s.text, w.diags...)
	}
	return out, nil
}

// inside is the description of a block within another; nil where the language
// has no such block. kind is its first label.
func (d *BlockDoc) inside(blockType, kind string) *BlockDoc {
	if d == nil {
		return nil
	}
	b := d.Block(blockType)
	if b != nil && b.Kinds[kind] != nil {
		return b.Kinds[kind]
	}
	return b
}

// role says how an attribute is read: some take no value, but a name or a type.
type role int

const (
	valueRole role = iota
	// nameRole: a reference, or a list of them.
	nameRole
	// staticRole: a type or an iterator, which is never evaluated.
	staticRole
)

func (d *BlockDoc) roleOf(attr string) role {
	if d == nil {
		return valueRole
	}
	a := d.Attr(attr)
	switch {
	case a == nil:
		return valueRole
	case a.Type == Reference, a.Type == Refs:
		return nameRole
	case a.Type == TypeExpr:
		return staticRole
	}
	return valueRole
}

// dynamicType is the block that makes other blocks; it may stand in any.
const dynamicType = "dynamic"

// dynamicOf describes a dynamic block that makes blocks of another type.
func dynamicOf(made *BlockDoc) *BlockDoc {
	content := &BlockDoc{Type: "content"}
	if made != nil {
		c := *made
		content = &c
		content.Type, content.Labels, content.Kinds = "content", nil, nil
		for _, kind := range made.Kinds {
			// Which kind it is follows from an expression; names are read the
			// same way in all of them.
			content.Attrs = append(content.Attrs[:len(content.Attrs):len(content.Attrs)], kind.Attrs...)
		}
	}
	return &BlockDoc{
		Type: dynamicType, Labels: []Label{{Name: "type"}}, Blocks: []*BlockDoc{content},
		Attrs: []Attr{{Name: "for_each", Type: Anything}, {Name: "iterator", Type: TypeExpr}, {Name: "labels", Type: Anything}},
	}
}
