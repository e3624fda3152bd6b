package yamlbody

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// body is a mapping read as a body.
type body struct {
	node *Node
	// hidden are the keys that an earlier PartialContent has taken.
	hidden map[string]bool
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
		diags = append(diags, problem(e.Key.Range, "unknown-attribute", "Unsupported argument", "The key %q is not expected here.", e.Key.Text))
	}
	return content, diags
}

// PartialContent takes what is in the schema.
func (b *body) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content := &hcl.BodyContent{Attributes: hcl.Attributes{}, MissingItemRange: b.MissingItemRange()}
	rest := &body{b.node, map[string]bool{}}
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
			list, d := blocksOf(e, header)
			content.Blocks, diags = append(content.Blocks, list...), append(diags, d...)
		}
	}
	for _, a := range schema.Attributes {
		if a.Required && content.Attributes[a.Name] == nil {
			diags = append(diags, problem(b.MissingItemRange(), "missing-attribute", "Missing required argument", "The key %q is required here.", a.Name))
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
			diags = append(diags, problem(e.Key.Range, "invalid-syntax", "Invalid argument name", "A name may only have letters, digits, underscores and hyphens, and starts with a letter or underscore."))
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

func attribute(e *Entry) *hcl.Attribute {
	return &hcl.Attribute{
		Name: e.Key.Text, Expr: own(e.Value.Expr), NameRange: e.Key.Range,
		Range: hcl.RangeBetween(e.Key.Range, e.Value.Range),
	}
}
