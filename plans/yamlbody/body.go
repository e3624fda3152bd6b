package yamlbody

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/mxflow/mxflow/internal/sorted"
	"gopkg.in/yaml.v3"
)

type body struct {
	node *Node
	// hidden are the keys that an earlier PartialContent has taken.
	hidden map[string]bool
	// nav learns where blocks are, if this is a file's.
	nav *Nav
}

// Nav tells HCL's writer in which block of a file a place is.
type Nav struct{ blocks map[hcl.Range]string }

// ContextString is the header of the block, in HCL; empty outside all.
func (n *Nav) ContextString(offset int) string {
	outermost := func(a, b hcl.Range) int {
		return cmp.Or(cmp.Compare(a.Start.Byte, b.Start.Byte), cmp.Compare(b.End.Byte, a.End.Byte))
	}
	for at, header := range sorted.By(n.blocks, outermost) {
		if at.Start.Byte <= offset && offset < at.End.Byte {
			return header
		}
	}
	return ""
}

// File is the mapping as the body of a file.
func (n *Node) File() (hcl.Body, *Nav) {
	nav := &Nav{map[hcl.Range]string{}}
	return &body{node: n, nav: nav}, nav
}

// Body is the mapping as the body of a file or block.
func (n *Node) Body() hcl.Body { return &body{node: n} }

// Content takes everything; a key that the schema does not know is a mistake.
func (b *body) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, rest, diags := b.PartialContent(schema)
	taken := rest.(*body).hidden
	for _, e := range b.node.Entries {
		if taken[e.Key.Text] {
			continue
		}
		diags = append(diags, problem(e.Key.Range, "unknown-attribute", "Unsupported argument",
			"The key %q is not expected here.", e.Key.Text))
	}
	return content, diags
}

// PartialContent takes what is in the schema.
func (b *body) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	rest := &body{b.node, map[string]bool{}, b.nav}
	for key := range b.hidden {
		rest.hidden[key] = true
	}
	attrs, blocks := map[string]bool{}, map[string]*hcl.BlockHeaderSchema{}
	for _, a := range schema.Attributes {
		attrs[a.Name] = true
	}
	for i, s := range schema.Blocks {
		blocks[s.Type] = &schema.Blocks[i]
	}
	var diags hcl.Diagnostics
	for _, e := range b.node.Entries {
		key := e.Key.Text
		switch header := blocks[key]; {
		case b.hidden[key]:
		case attrs[key]:
			rest.hidden[key] = true
			content.Attributes[key] = attribute(e)
		case header != nil:
			rest.hidden[key] = true
			u := unpacking{header: header, typeAt: e.Key.Range}
			u.unpack(e.Value, e.Key.Range, nil, nil)
			content.Blocks, diags = append(content.Blocks, u.found...), append(diags, u.diags...)
			for _, block := range u.found {
				if b.nav != nil {
					name := block.Type
					for _, label := range slices.DeleteFunc(slices.Clone(block.Labels), func(l string) bool {
						return l == ""
					}) {
						name += fmt.Sprintf(" %q", label)
					}
					b.nav.blocks[hcl.RangeOver(block.DefRange, block.Body.(*body).node.Range)] = name
				}
			}
		}
	}
	for _, a := range schema.Attributes {
		if a.Required && content.Attributes[a.Name] == nil {
			diags = append(diags, problem(b.MissingItemRange(), "missing-attribute", "Missing required argument",
				"The key %q is required here.", a.Name))
		}
	}
	return content, rest, diags
}

// JustAttributes takes every key as an attribute. Expressions name attributes, so keys
// must be names in HCL too.
func (b *body) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs := hcl.Attributes{}
	var diags hcl.Diagnostics
	for _, e := range b.node.Entries {
		switch {
		case b.hidden[e.Key.Text]:
		case hclsyntax.ValidIdentifier(e.Key.Text):
			attrs[e.Key.Text] = attribute(e)
		default:
			diags = append(diags,
				problem(e.Key.Range, "invalid-syntax", "Invalid argument name",
					"A name may only have letters, digits, underscores and hyphens, and starts with a letter or "+
						"underscore."))
		}
	}
	return attrs, diags
}

// MissingItemRange is where the mapping begins.
func (b *body) MissingItemRange() hcl.Range {
	r := b.node.Range
	r.End = r.Start
	return r
}

func attribute(e Entry) *hcl.Attribute {
	return &hcl.Attribute{
		Name: e.Key.Text, Expr: e.Value.Expr, NameRange: e.Key.Range,
		Range: hcl.RangeBetween(e.Key.Range, e.Value.Range),
	}
}

// LabelOf is the name of a label that only blocks of some kinds (first labels) have; nil
// means all. A schema of HCL can hold no more than its name.
func LabelOf(name string, only []string) string {
	if only == nil {
		return name
	}
	return name + below + strings.Join(only, ",")
}

const below = " of "

// unpacking goes from a key that is a type of block down the levels of labels, and finds
// the blocks there, in order.
type unpacking struct {
	header *hcl.BlockHeaderSchema
	typeAt hcl.Range
	found  hcl.Blocks
	diags  hcl.Diagnostics
}

// unpack reads what is below a key (or in a list below it) at a place.
func (u *unpacking) unpack(n *Node, at hcl.Range, labels []string, places []hcl.Range) {
	var names []string // of the labels of blocks below these
	for _, label := range u.header.LabelNames {
		name, kinds, some := strings.Cut(label, below)
		if !some || len(labels) > 0 && slices.Contains(strings.Split(kinds, ","), labels[0]) {
			names = append(names, name)
		}
	}
	missing := names[len(labels):]
	value, constant := n.Expr.(*hclsyntax.LiteralValueExpr)
	switch {
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Items {
			if item.Kind == yaml.SequenceNode {
				u.diags = append(u.diags, problem(item.Range, "yaml-shape", "List within a list",
					"Each element of this list is a %s, so it must be a mapping.", u.header.Type))
				continue
			}
			from := at
			if len(missing) == 0 && len(labels) == 0 {
				from = hcl.Range{Filename: at.Filename, Start: item.Range.Start, End: item.Range.Start}
			}
			u.unpack(item, from, labels, places)
		}
	case len(missing) > 0 && n.Kind == yaml.MappingNode:
		for _, e := range n.Entries {
			u.unpack(e.Value, e.Key.Range, append(slices.Clip(labels), e.Key.Text),
				append(slices.Clip(places), e.Key.Range))
		}
	case len(missing) > 0:
		code := "missing-attribute"
		if missing[0] == "name" {
			code = "invalid-name"
		}
		u.diags = append(u.diags,
			problem(at, code, "Missing "+missing[0],
				"The %s of a %s is the key below it. Write %s: {%s: {…}}, or the same as indented lines.", missing[0],
				u.header.Type, u.header.Type, missing[0]))
	default:
		if n.Kind != yaml.MappingNode && !(constant && value.Val.IsNull()) {
			what, hint := u.header.Type, ""
			for _, l := range labels {
				what += fmt.Sprintf(" %q", l)
				hint = fmt.Sprintf(" If %q is a setting, the name of the %s above it is missing.", l, u.header.Type)
			}
			u.diags = append(u.diags,
				problem(n.Range, "yaml-shape", "Not a mapping",
					"%s takes settings, so it must be a mapping: indented lines of key: value. A colon needs a space "+
						"after it.%s", what, hint))
		}
		// A block with a mistaken body counts too, so it is not reported as missing.
		for len(labels) < len(u.header.LabelNames) { // which blocks of this kind do not have
			labels, places = append(slices.Clip(labels), ""), append(slices.Clip(places), places[len(places)-1])
		}
		u.found = append(u.found, &hcl.Block{
			Type: u.header.Type, Labels: labels, Body: n.Body(), DefRange: at, TypeRange: u.typeAt, LabelRanges: places,
		})
	}
}
