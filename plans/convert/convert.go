// Package convert rewrites plan files, from HCL to YAML and back, and formats them in one
// way. It works on text and its syntax tree: nothing is evaluated, and the plan need not
// be valid.
package convert

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// ToYAML rewrites a plan file in HCL as YAML. It works on the text: nothing is evaluated,
// and expressions and comments are kept, the latter in place. The text must be free of
// syntax errors, but need not be a valid plan; otherwise the result is nil and the
// diagnostics say where.
func ToYAML(filename string, src []byte, reg *plans.Registry) ([]byte, *lang.Findings) {
	if _, diag := lang.CheckSource(filename, src); diag != nil {
		return nil, problems(filename, src, diag)
	}
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, unread(filename, src, diags)
	}
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	w := &yamlWriter{src: src, tokens: tokens, comments: commentsOf(tokens)}
	out, err := w.file(file.Body.(*hclsyntax.Body), load.Describe(reg))
	if err != nil {
		return nil, problems(filename, src, lang.SourceError(filename, lang.StartOf(filename), "cannot-convert", "Cannot write this in YAML", err.Error()))
	}
	return out, nil
}

// ToHCL rewrites a plan file in YAML as HCL, the inverse of ToYAML. Aliases and merges
// are expanded.
func ToHCL(filename string, src []byte, reg *plans.Registry) ([]byte, *lang.Findings) {
	s := &lang.Source{Name: filename, Text: src}
	if diag := lang.CheckText(filename, src); diag != nil {
		return nil, problems(filename, src, diag)
	}
	root, diags := s.ParseTree()
	if diags.HasErrors() {
		return nil, unread(filename, s.Text, diags)
	}
	w := &hclWriter{}
	out := w.file(root, load.Describe(reg))
	if w.diags.HasErrors() {
		return nil, problems(filename, s.Text, w.diags...)
	}
	return out, nil
}

// inside is the description of a block within another; nil if the language has no such
// block. kind is its first label.
func inside(d *lang.BlockDoc, blockType, kind string) *lang.BlockDoc {
	if d == nil {
		return nil
	}
	b := d.Block(blockType)
	if b != nil && b.Kinds[kind] != nil {
		return b.Kinds[kind]
	}
	return b
}

// role is how an attribute is read: some take no value, but a name or a type.
type role int

const (
	valueRole role = iota
	// nameRole: a reference, or a list of them.
	nameRole
	// staticRole: a type or an iterator, which is never evaluated.
	staticRole
)

func roleOf(d *lang.BlockDoc, attr string) role {
	if d == nil {
		return valueRole
	}
	a := d.Attr(attr)
	switch {
	case a == nil:
		return valueRole
	case a.Type == plans.Reference, a.Type == plans.Refs:
		return nameRole
	case a.Type == plans.TypeExpr:
		return staticRole
	}
	return valueRole
}

// dynamicOf describes a dynamic block that generates blocks of another type.
func dynamicOf(made *lang.BlockDoc) *lang.BlockDoc {
	content := &lang.BlockDoc{Type: "content"}
	if made != nil {
		c := *made
		content = &c
		content.Type, content.Labels, content.Kinds = "content", nil, nil
		for _, kind := range made.Kinds {
			// The kind follows from an expression; names are read the same way in all of
			// them.
			content.Attrs = append(content.Attrs[:len(content.Attrs):len(content.Attrs)], kind.Attrs...)
		}
	}
	return &lang.BlockDoc{
		Type: lang.DynamicType, Labels: []lang.Label{{Name: "type"}}, Blocks: []*lang.BlockDoc{content},
		Attrs: []plans.Attr{{Name: "for_each", Type: plans.Anything}, {Name: "iterator", Type: plans.TypeExpr}, {Name: "labels", Type: plans.Anything}},
	}
}

// blocksNode arranges the blocks of one type below its key: by label, if that keeps their
// order, and as a list otherwise.
func blocksNode(list []*item) *yaml.Node {
	if len(list) == 1 || grouped(list) {
		return nested(list, 0)
	}
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, i := range list {
		n := nested([]*item{i}, 0)
		if len(i.keys) == 0 {
			n.HeadComment = i.head
		}
		seq.Content = append(seq.Content, n)
	}
	return seq
}

// grouped reports whether the blocks can be nested by label: each group of equal labels
// is contiguous, and none occurs twice.
func grouped(list []*item) bool {
	seen := map[string]bool{}
	for n, i := range list {
		if len(i.keys) == 0 {
			return false
		}
		for depth := range i.keys {
			path := strings.Join(i.keys[:depth+1], "\x00")
			before := ""
			if n > 0 && len(list[n-1].keys) > depth {
				before = strings.Join(list[n-1].keys[:depth+1], "\x00")
			}
			if seen[path] && (path != before || depth == len(i.keys)-1) {
				return false
			}
			seen[path] = true
		}
	}
	return true
}

// nested are blocks that share their first labels, below the others.
func nested(list []*item, depth int) *yaml.Node {
	if depth == len(list[0].keys) {
		return list[0].body
	}
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to].keys[depth] == list[from].keys[depth] {
			to++
		}
		key := textNode(list[from].keys[depth])
		if depth == len(list[from].keys)-1 {
			key.HeadComment = list[from].head
		}
		node.Content = append(node.Content, key, nested(list[from:to], depth+1))
		from = to
	}
	return node
}
